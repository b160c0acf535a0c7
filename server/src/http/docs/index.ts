/** The OpenAPI documentation of every route, by the names that the table of routes uses. */

export type { RouteDocs } from './route-docs.ts';
export { balance } from './routes/balance.ts';
export { callback } from './routes/callbacks.ts';
export { chat } from './routes/chat.ts';
export { depositAddresses, listDeposits } from './routes/deposits.ts';
export { falRun } from './routes/fal.ts';
export { readFile, upload } from './routes/files.ts';
export { editImages, generateImages } from './routes/images.ts';
export { countTokens, messages } from './routes/messages.ts';
export { estimate, listModels, readModel } from './routes/models.ts';
export { client, guide, livez, metrics, openapi, readyz } from './routes/ops.ts';
export {
  adjust,
  changeKey,
  createAccount,
  createKey,
  credit,
  listAccounts,
  listAllRequests,
  listEvents,
  listKeys,
  listTransfers,
  readAccount,
  readUsage,
  refund,
  resume,
  revokeKey,
  suspend,
} from './routes/operator.ts';
export {
  changeOwnKey,
  createOwnKey,
  listOwnKeys,
  readOwnKey,
  revokeOwnKey,
} from './routes/keys.ts';
export { output } from './routes/outputs.ts';
export { submit } from './routes/queue.ts';
export {
  cancel,
  cancelPut,
  listRequests,
  readRequest,
  response,
  status,
  statusStream,
} from './routes/requests.ts';
export { createResponse } from './routes/responses.ts';
export { usage } from './routes/usage.ts';
