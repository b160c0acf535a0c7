/** What the OpenAPI document says of a route. */
export interface RouteDocs {
  operationId: string;
  summary: string;
}
const d = (operationId: string): RouteDocs => ({ operationId, summary: operationId });
export const listModels = d('listModels');
export const readModel = d('readModel');
export const guide = d('guide');
export const openapi = d('openapi');
export const estimate = d('estimate');
export const chat = d('chatCompletions');
export const submit = d('submit');
export const listRequests = d('listRequests');
export const readRequest = d('readRequest');
export const status = d('readStatus');
export const statusStream = d('streamStatus');
export const response = d('readResponse');
export const cancel = d('cancel');
export const cancelPut = d('cancelPut');
export const output = d('readOutput');
export const upload = d('uploadFile');
export const livez = d('livez');
export const readyz = d('readyz');
export const metrics = d('metrics');
