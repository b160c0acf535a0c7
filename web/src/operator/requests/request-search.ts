import { anyText, fits, oneOf, type AddressValues } from '../../address.ts';
import { kinds } from '../../studio/form/gallery-filter.ts';
import { midnight } from '../../dashboard/money/money-search.ts';

/** The filters of the lists of requests, in the address and in the call. */

export const statuses = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export const errorCodes = [
  'upstream_failed',
  'upstream_rejected',
  'timeout',
  'outcome_unknown',
  'output_unusable',
  'output_too_large',
] as const;
/** A number of a call. */
export const callIdForm = /^[!-~]{1,128}$/;
export const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** A local day, or a moment in UTC. */
const moment = /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/;

export const requestFilters = {
  call_id: fits(callIdForm),
  account: fits(idForm),
  status: oneOf(statuses),
  error: oneOf(errorCodes),
  kind: oneOf(kinds),
  model: anyText,
  upstream: anyText,
  key: fits(idForm),
  from: fits(moment),
  to: fits(moment),
};
export type RequestSearch = AddressValues<typeof requestFilters>;

/** The parameters of the call behind the list. */
export function queryOf({ account, model, key, error, from, to, ...rest }: RequestSearch) {
  return {
    ...rest,
    account_id: account,
    model_id: model,
    key_id: key,
    error_code: error,
    from: from && momentOf(from),
    to: to && momentOf(to, 1),
  };
}

function momentOf(at: string, later = 0): string {
  return at.includes('T') ? at : midnight(at, later);
}
