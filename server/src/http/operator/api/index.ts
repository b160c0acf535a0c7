/** The handlers of the operator's API, by the names that the table of routes uses. */

export {
  create as createAccount,
  find as readAccount,
  list as listAccounts,
  resume,
  suspend,
} from './accounts.ts';
export { list as listEvents } from './events.ts';
export {
  change as changeKey,
  create as createKey,
  list as listKeys,
  revoke as revokeKey,
} from './keys.ts';
export { correct as adjust, credit, refund } from './money.ts';
export { list as listTransfers } from './transfers.ts';
export { list as readUsage } from './usage.ts';
