import type { Schema } from './docs/schema.ts';
import { schemas as balanceSchemas } from './docs/balance.ts';
import { schemas as chatSchemas } from './docs/chat-shapes.ts';
import { schemas as errorSchemas } from './docs/errors.ts';
import { schemas as fileSchemas } from './docs/files.ts';
import { schemas as modelSchemas } from './docs/model-shapes.ts';
import { schemas as opsSchemas } from './docs/ops.ts';
import { schemas as queueSchemas } from './docs/queue.ts';
import { schemas as requestSchemas } from './docs/request-shapes.ts';

/** What the OpenAPI document says of every route: by the names that the table of routes uses. */

export type { RouteDocs } from './docs/schema.ts';
export { balance } from './docs/balance.ts';
export { callback } from './docs/callbacks.ts';
export { chat } from './docs/chat.ts';
export { readFile, upload } from './docs/files.ts';
export { estimate, listModels, readModel } from './docs/models.ts';
export { client, guide, livez, metrics, openapi, readyz } from './docs/ops.ts';
export { output } from './docs/outputs.ts';
export { submit } from './docs/queue.ts';
export {
  cancel,
  cancelPut,
  listRequests,
  readRequest,
  response,
  status,
  statusStream,
} from './docs/requests.ts';

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
