import type { Schema } from './schema.ts';
import { schemas as balanceSchemas } from './balance.ts';
import { schemas as chatSchemas } from './chat-shapes.ts';
import { schemas as errorSchemas } from './errors.ts';
import { schemas as fileSchemas } from './files.ts';
import { schemas as modelSchemas } from './model-shapes.ts';
import { schemas as opsSchemas } from './ops.ts';
import { schemas as queueSchemas } from './queue.ts';
import { schemas as requestSchemas } from './request-shapes.ts';

/** What the OpenAPI document says of every route: by the names that the table of routes uses. */

export type { RouteDocs } from './schema.ts';
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

/** Every named shape of the wire. */
export const schemas: Record<string, Schema> = {
  ...modelSchemas,
  ...balanceSchemas,
  ...queueSchemas,
  ...requestSchemas,
  ...fileSchemas,
  ...chatSchemas,
  ...opsSchemas,
  ...errorSchemas,
};
