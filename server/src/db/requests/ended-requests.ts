import type { TokenCounts } from '../../core/chat/chat-bill.ts';
import type { CancelRule } from '../../core/catalog/catalog.ts';
import type { Output, Status } from '../../core/request/request.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Transaction } from '../../lib/sql/sql.ts';
import type { OutputRow } from './requests.ts';
import type { FailureCode } from '../../core/errors.ts';

/** A cancelled request keeps its input only up to this size. */
const cancelledInputMaxBytes = 16 * 1024;

export interface LockedRequest {
  id: string;
  status: Status;
  attempt: number;
  quoted_usd_micro: bigint;
  /** First day of the month (UTC) in which the amount was reserved. */
  month: string;
  /** Set if its caller asked to stop it while it ran. */
  on_cancel: CancelRule | null;
  /** When it ended or, if it ends in this transaction, ends. */
  ended_at: Date;
}

/** Locks requests that are about to end. Balances and key usage must be locked before them. */
export function lockMany(tx: Transaction, ids: string[]): Promise<LockedRequest[]> {
  return tx.run<LockedRequest>(sql`
    select id, status, attempt, quoted_usd_micro, on_cancel, to_char(created_at at time zone 'utc',
      'YYYY-MM-01') as month, coalesce(completed_at, now()) as ended_at
    from requests where id = any(${ids}::uuid[]) order by id for update`);
}

export interface EndedRequest {
  id: string;
  account_id: string;
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
  /** The upstream at which the request ended; null: its present upstream. */
  upstream: string | null;
  charged_usd_micro: bigint;
  error_code: FailureCode | null;
  error_message: string | null;
  /** JSON as a string, or null. */
  error_details: string | null;
  error_cause: string | null;
  /** How long its outputs are kept; null if there are none. */
  ttl_seconds: number | null;
  /** JSON as a string, or null. */
  output: string | null;
  quantity: number | null;
  /** Null unless a chat was completed. */
  tokens: TokenCounts | null;
  cost_usd_micro: bigint | null;
  outputs: Output[];
  /** False for a request that was cancelled before it ran. */
  has_result: boolean;
  /** True: a failed call may be made again with the same Idempotency-Key. */
  frees_key: boolean;
}

/** Writes the end of locked, open requests. */
export function endMany(tx: Transaction, rows: EndedRequest[]): void {
  tx.send(sql`
    update requests r set status = d.status, slot = false, leased = false, waits = false,
      upstream = coalesce(d.upstream, r.upstream), charged_usd_micro = d.charged_usd_micro,
      error_code = d.error_code,
      completed_at = now(), expires_at = now() + d.ttl_seconds * interval '1 s',
      wake_at = case when r.webhook_state = 'pending' then now()
        else now() + d.ttl_seconds * interval '1 s' end
    from ${rowsOf(rows, {
      id: 'uuid',
      status: 'text',
      charged_usd_micro: 'bigint',
      error_code: 'text',
      ttl_seconds: 'float8',
      upstream: 'text',
    })} as d
    where r.id = d.id`);
  const results = rows.filter((row) => row.has_result);
  if (results.length > 0) insertResults(tx, results);
  const outputs = rows.flatMap(({ id: request_id, account_id, outputs: made }) =>
    made.map((output) => ({ request_id, account_id, ...output })),
  );
  if (outputs.length > 0) insertOutputs(tx, outputs);
  const freed = rows.filter((row) => row.frees_key).map((row) => row.id);
  if (freed.length > 0) freeKeys(tx, freed);
  const cancelled = rows.filter((row) => row.status === 'CANCELLED').map((row) => row.id);
  if (cancelled.length > 0) dropLargeInputs(tx, cancelled);
}

/** Cancelling is free, so large inputs of cancelled requests could be used to fill the disk. */
function dropLargeInputs(tx: Transaction, requestIds: string[]): void {
  tx.send(sql`
    update request_inputs set input = '{}'
    where request_id = any(${requestIds}::uuid[])
      and octet_length(input::text) > ${cancelledInputMaxBytes}`);
}

function freeKeys(tx: Transaction, requestIds: string[]): void {
  tx.send(sql`
    update request_inputs set idempotency_key = null, fingerprint = null
    where request_id = any(${requestIds}::uuid[]) and idempotency_key is not null`);
}

function insertResults(tx: Transaction, rows: EndedRequest[]): void {
  const flat = rows.map((row) => ({ ...row, ...row.tokens }));
  tx.send(sql`
    insert into request_results (request_id, account_id, output, error_message, error_cause,
      error_details, quantity, input_tokens, output_tokens, cached_tokens, reasoning_tokens,
      cost_usd_micro, loss_usd_micro, doubt_upstream)
    select id, account_id, output, error_message, error_cause, error_details, quantity,
      input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost_usd_micro,
      case when status = 'COMPLETED' and cost_usd_micro > charged_usd_micro
        then cost_usd_micro - charged_usd_micro end,
      case when error_code in ('outcome_unknown', 'timeout') and cost_usd_micro is null
        then (select r.upstream from requests r where r.id = d.id) end
    from ${rowsOf(flat, {
      id: 'uuid',
      account_id: 'uuid',
      output: 'json',
      error_message: 'text',
      error_cause: 'text',
      error_details: 'json',
      quantity: 'float8',
      input_tokens: 'int',
      output_tokens: 'int',
      cached_tokens: 'int',
      reasoning_tokens: 'int',
      cost_usd_micro: 'bigint',
      error_code: 'text',
      status: 'text',
      charged_usd_micro: 'bigint',
    })} as d`);
}

function insertOutputs(tx: Transaction, rows: (OutputRow & { account_id: string })[]): void {
  tx.send(sql`
    insert into outputs (request_id, account_id, index, field, storage_key, content_type, size,
      sha256, width, height, duration_seconds, file_name)
    select * from ${rowsOf(rows, {
      request_id: 'uuid',
      account_id: 'uuid',
      index: 'int',
      field: 'text',
      storage_key: 'text',
      content_type: 'text',
      size: 'bigint',
      sha256: 'text',
      width: 'int',
      height: 'int',
      duration_seconds: 'float8',
      file_name: 'text',
    })} as d`);
}
