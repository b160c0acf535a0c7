import { ApiError } from '../../core/errors.ts';
import type { UnknownInput } from '../../core/catalog/model-input.ts';
import { formatUsd } from '../../core/price/money.ts';
import type * as requests from '../../db/requests/requests.ts';
import type { Books } from '../../ledger/ledger.ts';
import type { KeyUsage } from '../../ledger/usage.ts';
import type { Kind } from '../../core/catalog/catalog.ts';

/** One submit: the row to insert and the limits of its key. */
export interface Submit {
  row: requests.NewRequest;
  monthly_limit_usd_micro: bigint | null;
  /** Jobs that this key may have open at once; null for chat calls, which are not jobs. */
  open_jobs: number | null;
  /** Limits over all keys of the account; chat calls have none. */
  account?: AccountLimits;
  /**
   * Why new requests are refused at the moment, if they are. A repeat of an earlier submit is still
   * answered.
   */
  refusal: ApiError | null;
}

export interface AccountLimits {
  open_jobs: number;
  bytes_a_day: number;
}

export interface SubmitResult {
  replayed: boolean;
  request_id: string;
  model_id: string;
  kind: Kind;
  quoted_usd_micro: bigint;
  queue_position: number;
  unknown_inputs?: UnknownInput[] | null;
}

/**
 * Decides on submits one after the other: idempotency, limits, reservation. Each gets its own
 * verdict, in order. A refused submit changes nothing and does not affect the others. Rows to
 * insert are added to `accepted`.
 */
export function decideSubmits(
  submits: Submit[],
  books: Books,
  usage: KeyUsage,
  { earlier, own }: StoredSubmits,
  accepted: requests.NewRequest[],
): (SubmitResult | ApiError)[] {
  const known = new Map(earlier.map((e) => [scope(e.account_id, e.idempotency_key), e]));
  return submits.map((submit) =>
    // guard: lost-commit-submit
    own.has(submit.row.id)
      ? acceptedResult(submit.row)
      : decide(submit, books, usage, known, accepted),
  );
}

/** The rows that the database already has for these submits. */
interface StoredSubmits {
  /** Earlier requests with the same Idempotency-Key as one of the submits. */
  earlier: requests.EarlierRequest[];
  /**
   * Ids of submits that are stored already, by an earlier try of this batch whose answer was lost.
   */
  own: ReadonlySet<string>;
}

function acceptedResult(row: requests.NewRequest): SubmitResult {
  const { id, model_id, kind, quoted_usd_micro, queue_position, unknown_inputs = null } = row;
  const fields = { model_id, kind, quoted_usd_micro, queue_position, unknown_inputs };
  return { request_id: id, ...fields, replayed: false };
}

function decide(
  submit: Submit,
  books: Books,
  usage: KeyUsage,
  known: Map<string, requests.EarlierRequest>,
  accepted: requests.NewRequest[],
): SubmitResult | ApiError {
  const { row } = submit;
  const key = row.idempotency_key === null ? null : scope(row.account_id, row.idempotency_key);
  const earlier = key === null ? undefined : known.get(key);
  // guard: repeat-is-one-request
  if (earlier) {
    // guard: other-body-conflicts (off: true)
    const same = row.fingerprint !== null && earlier.fingerprint.equals(row.fingerprint);
    return same ? { ...earlier, replayed: true } : new ApiError('idempotency_conflict');
  }
  // guard: refused-submit
  if (submit.refusal) return submit.refusal;
  const refusal = refuse(submit, books, usage);
  if (refusal) return refusal;
  accepted.push(row);
  usage.reserve(row.key_id, row.quoted_usd_micro, row.call_seconds === null);
  const submitted = acceptedResult(row);
  if (key !== null) {
    const { account_id, idempotency_key, fingerprint } = row;
    known.set(key, {
      ...submitted,
      account_id,
      idempotency_key: idempotency_key!,
      fingerprint: fingerprint!,
      unknown_inputs: row.unknown_inputs ?? null,
    });
  }
  return submitted;
}

/** Checks the limits in their documented order and makes the reservation. */
function refuse(submit: Submit, books: Books, usage: KeyUsage): ApiError | null {
  const { row, open_jobs, monthly_limit_usd_micro: limit } = submit;
  const spending = usage.spending(row.key_id);
  // guard: open-jobs
  if (open_jobs !== null && spending.open_requests >= open_jobs) return tooManyOpenJobs(open_jobs);
  const beyond = submit.account && beyondAccount(submit, submit.account, books);
  if (beyond) return beyond;
  // guard: monthly-limit
  if (limit !== null && spending.spent_usd_micro + row.quoted_usd_micro > limit) {
    const required = formatUsd(row.quoted_usd_micro);
    const left = formatUsd(
      spending.spent_usd_micro < limit ? limit - spending.spent_usd_micro : 0n,
    );
    return new ApiError('key_limit_reached', {
      message: `This call reserves $${required}, but only $${left} is left of this key's monthly limit of $${formatUsd(limit)}. Raise the limit in the dashboard, or use another key.`,
      details: {
        required_usd_micro: String(row.quoted_usd_micro),
        limit_usd_micro: String(limit),
        spent_usd_micro: String(spending.spent_usd_micro),
        resets_at: spending.resets_at,
      },
    });
  }
  const funds = books.funds(row.account_id);
  const { id: request_id, account_id, key_id, quoted_usd_micro: amount } = row;
  const opens_job = row.call_seconds === null;
  const bytes = bytesOf(row);
  if (!books.reserve({ request_id, account_id, key_id, amount, opens_job, bytes })) {
    return new ApiError('insufficient_balance', {
      message: `Not enough balance: this call reserves $${formatUsd(amount)}, but only $${formatUsd(funds.available_usd_micro)} is available. Top up and send it again.`,
      details: {
        required_usd_micro: String(amount),
        available_usd_micro: String(funds.available_usd_micro),
        reserved_usd_micro: String(funds.reserved_usd_micro),
      },
    });
  }
  return null;
}

function bytesOf({ input }: requests.NewRequest): number {
  return Buffer.byteLength(input);
}

function beyondAccount(
  { row, open_jobs }: Submit,
  limits: AccountLimits,
  books: Books,
): ApiError | null {
  const held = books.holding(row.account_id);
  // If the operator gave a key a higher limit, that also raises the account's ceiling for the key.
  const jobs = Math.max(limits.open_jobs, open_jobs ?? 0);
  if (held.open_requests >= jobs) {
    return new ApiError('rate_limited', {
      message: `This account has ${jobs} open jobs, the most that all its keys may have together. Wait for one to end, or cancel one.`,
      details: { account_open_jobs_limit: jobs },
      headers: { 'retry-after': '5' },
    });
  }
  if (held.kept_bytes + BigInt(bytesOf(row)) > limits.bytes_a_day) {
    return new ApiError('rate_limited', {
      message: `The inputs that an account submits in one day (UTC) may have at most ${limits.bytes_a_day} bytes together, and this input does not fit. Upload large files and send their file_id instead, or continue tomorrow.`,
      details: { account_bytes_a_day: limits.bytes_a_day, used_bytes: Number(held.kept_bytes) },
      headers: { 'retry-after': '3600' },
    });
  }
  return null;
}

/** Also used before the body of a submit is read. */
export function tooManyOpenJobs(limit: number): ApiError {
  const jobs = limit === 1 ? 'job' : 'jobs';
  return new ApiError('rate_limited', {
    message: `This key has ${limit} open ${jobs}, the most that it may have. Wait for one to end, or cancel one.`,
    details: { open_jobs_limit: limit },
    headers: { 'retry-after': '5' },
  });
}

function scope(accountId: string, idempotencyKey: string): string {
  return JSON.stringify([accountId, idempotencyKey]);
}
