/** The OpenAPI documentation of every route, by the names that the table of routes uses. */

export type { RouteDocs } from './route-docs.ts';
export { balance } from './balance.ts';
export { callback } from './callbacks.ts';
export { chat } from './chat.ts';
export { readFile, upload } from './files.ts';
export { estimate, listModels, readModel } from './models.ts';
export { client, guide, livez, metrics, openapi, readyz } from './ops.ts';
export { output } from './outputs.ts';
export { submit } from './queue.ts';
export {
  cancel,
  cancelPut,
  listRequests,
  readRequest,
  response,
  status,
  statusStream,
} from './requests.ts';
