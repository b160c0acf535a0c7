import type { FailureCode, FailureDetails } from '../core/errors.ts';
import { redactInput } from '../core/request/redact.ts';
import type { EndTransition } from '../core/request/request.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';

/** Fields that a worker sets whenever it ends a request. */
export function endOf(row: ClaimedRequest) {
  const { id, attempt, account_id, key_id, model_id } = row;
  const upstream = row.started_upstream ?? row.upstream;
  return { id, attempt, account_id, key_id, model_id, upstream, opens_job: row.kind !== 'text' };
}

/** `cost`: the operator's, if known. `cause`: for the operator, if callers see another message. */
interface FailureFacts {
  cost?: bigint | null;
  cause?: string;
  details?: FailureDetails | undefined;
}

export function failedTransition(
  row: ClaimedRequest,
  code: FailureCode,
  message: string,
  { cost = null, cause = message, details }: FailureFacts = {},
): EndTransition {
  const shown = redactInput(cause, row.input);
  const told = details && { details };
  return {
    ...endOf(row),
    to: 'FAILED',
    code,
    message,
    ...told,
    cost_usd_micro: cost,
    cause: shown,
  };
}
