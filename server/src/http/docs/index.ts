/** The OpenAPI documentation of every route, by the names that the table of routes uses. */

export type { RouteDocs } from './route-docs.ts';
export { balance } from './balance.ts';
export { callback } from './callbacks.ts';
export { chat } from './chat.ts';
export { depositAddresses, listDeposits } from './deposits.ts';
export { readFile, upload } from './files.ts';
export { editImages, generateImages } from './images.ts';
export { countTokens, messages } from './messages.ts';
export { estimate, listModels, readModel } from './models.ts';
export { client, guide, livez, metrics, openapi, readyz } from './ops.ts';
export {
  adjust,
  changeKey,
  createAccount,
  createKey,
  credit,
  listAccounts,
  listAllRequests,
  listEvents,
  listTransfers,
  readAccount,
  readUsage,
  refund,
  resume,
  revokeKey,
  suspend,
} from './operator.ts';
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
export { createResponse } from './responses.ts';
