import { createHash, randomUUID } from 'node:crypto';
import { deposit } from './by-command-line.ts';
import type { ApiError } from '../../src/core/errors.ts';
import type { EndTransition } from '../../src/core/request/request.ts';
import { claimQueued, type Claim } from '../../src/db/requests/queue.ts';
import * as requests from '../../src/db/requests/requests.ts';
import { newId } from '../../src/lib/id.ts';
import { sql, type Database } from '../../src/lib/sql/sql.ts';
import { createAccount } from '../../src/operations/accounts/account.ts';
import { moveMany } from '../../src/operations/requests/advance.ts';
import { endMany, settleBatch } from '../../src/operations/requests/settle.ts';
import { createKey } from './keys.ts';
import type { Submit, SubmitResult } from '../../src/operations/requests/admit.ts';

/**
 * Moves requests step by step without HTTP, worker or upstream, so that a test controls each step.
 */

export interface Customer {
  account_id: string;
  key_id: string;
}

export interface SubmitInput {
  amount?: bigint;
  upstream?: string;
  idempotency_key?: string | null;
  /** Replaces the body: a different text gives a different fingerprint. */
  body?: string;
  limit?: bigint | null;
  open_jobs?: number | null;
  /** Makes a chat call of this length instead of a queued job. */
  call_seconds?: number | null;
  webhook_url?: string | null;
  refusal?: ApiError | null;
}

let customers = 0;

/** An account with a key and, unless it is 0, a deposit. */
export async function customer(db: Database, amount = 1_000_000n): Promise<Customer> {
  const email = `hand-${process.pid}-${++customers}@example.com`;
  const { id: account_id } = await createAccount(db, { email, is_operator: false });
  if (amount > 0n) await deposit(db, { account_id, amount, reference: randomUUID() });
  return { account_id, key_id: await secondKey(db, account_id) };
}

export async function secondKey(db: Database, account_id: string): Promise<string> {
  const limits = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
  return (await createKey(db, { account_id, name: 'by hand', ...limits })).key_id;
}

/** Runs a batch of submits without endings. */
export async function submitMany(
  db: Database,
  submits: Submit[],
): Promise<(SubmitResult | ApiError)[]> {
  return (await settleBatch(db, submits, [])).submitted;
}

/** The submit as an HTTP route would pass it. */
export function submitOf({ account_id, key_id }: Customer, wanted: SubmitInput = {}): Submit {
  const { amount = 10_000n, idempotency_key = null, body = 'a body', call_seconds = null } = wanted;
  const amountText = String(amount);
  return {
    row: {
      id: newId(),
      account_id,
      key_id,
      model_id: 'fake/image',
      kind: call_seconds === null ? 'image' : 'text',
      upstream: wanted.upstream ?? 'fake',
      upstream_model: null,
      quoted_usd_micro: amount,
      idempotency_key,
      fingerprint: idempotency_key === null ? null : createHash('sha256').update(body).digest(),
      input: '{"prompt":"a cat"}',
      prompt: null,
      quote: JSON.stringify({
        price_usd_micro: amountText,
        unit: 'request',
        unit_price_usd_micro: amountText,
        quantity: 1,
        breakdown: [],
        assumptions: {},
      }),
      person_id: null,
      queue_position: 0,
      webhook_url: wanted.webhook_url ?? null,
      metadata: null,
      caller_id: null,
      door: null,
      traceparent: null,
      call_seconds,
    },
    monthly_limit_usd_micro: wanted.limit ?? null,
    open_jobs: wanted.open_jobs === undefined ? 1_000_000 : wanted.open_jobs,
    refusal: wanted.refusal ?? null,
  };
}

export async function trySubmit(
  db: Database,
  who: Customer,
  wanted: SubmitInput = {},
): Promise<SubmitResult | ApiError> {
  const [verdict] = await submitMany(db, [submitOf(who, wanted)]);
  return verdict!;
}

/** Submits and returns the request's id. Throws if it is refused. */
export async function submit(
  db: Database,
  who: Customer,
  wanted: SubmitInput = {},
): Promise<string> {
  const verdict = await trySubmit(db, who, wanted);
  if (verdict instanceof Error) throw verdict;
  return verdict.request_id;
}

/** Claims requests that are queued for an upstream. */
export function claim(
  db: Database,
  upstream = 'fake',
  limit = 1,
  leaseSeconds = 60,
): Promise<Claim[]> {
  return claimQueued(db, { upstream, concurrency: 1_000_000 }, limit, leaseSeconds);
}

/**
 * Commits the intent to call an upstream: the request is IN_PROGRESS from here on. False if the
 * claim was overtaken.
 */
export async function begin(
  db: Database,
  { id, attempt }: Claim,
  deadline_seconds = 600,
): Promise<boolean> {
  const { upstream } = await requestRow(db, id);
  const [begun] = await moveMany(db, [
    {
      id,
      attempt,
      to: 'begin',
      upstream,
      model: 'm',
      class: 'A',
      request_hash: Buffer.alloc(32),
      deadline_seconds,
      lease_seconds: 60,
    },
  ]);
  return begun!;
}

/** Claims and begins the one request that is queued for `upstream`. */
export async function start(db: Database, upstream = 'fake'): Promise<Claim> {
  const [claimed] = await claim(db, upstream);
  if (!claimed || !(await begin(db, claimed))) throw new Error('nothing could be started');
  return claimed;
}

export function completed(
  who: Customer,
  { id, attempt }: Claim,
  charge: bigint,
  opens_job = true,
): EndTransition {
  return {
    id,
    attempt,
    ...who,
    opens_job,
    to: 'COMPLETED',
    charge,
    output: { seed: 7 },
    outputs: [],
    quantity: 1,
    cost_usd_micro: null,
    ttl_seconds: 86_400,
  };
}

export function failed(who: Customer, { id, attempt }: Claim, opens_job = true): EndTransition {
  return {
    id,
    attempt,
    ...who,
    opens_job,
    to: 'FAILED',
    code: 'upstream_failed',
    message: 'It failed.',
    cost_usd_micro: null,
  };
}

export function cancelled(who: Customer, id: string): EndTransition {
  return { id, attempt: null, ...who, opens_job: true, to: 'CANCELLED' };
}

/** Ends one request; false if the claim was overtaken. Throws if the ending is refused. */
export async function end(db: Database, ending: EndTransition): Promise<boolean> {
  const [verdict] = await endMany(db, [ending]);
  if (verdict instanceof Error) throw verdict;
  return verdict!;
}

export async function requestRow(
  db: Database,
  id: string,
): Promise<requests.RequestRow & requests.StatusRow> {
  const [row] = await db.run<requests.RequestRow>(sql`select * from requests where id = ${id}`);
  const [shown] = await requests.findMany(db, [id]);
  if (!row || !shown) throw new Error(`there is no request ${id}`);
  return { ...row, ...shown };
}

export async function balanceOf(
  db: Database,
  { account_id }: { account_id: string },
): Promise<{ available: bigint; reserved: bigint }> {
  const [row] = await db.run<{ available: bigint; reserved: bigint }>(sql`
    select credits_posted - debits_posted - debits_pending as available, debits_pending as reserved
     from balances where account_id = ${account_id}`);
  return row!;
}

export interface KeySpend {
  month: string;
  pending: bigint;
  posted: bigint;
  open: number;
}

export async function usageOf(db: Database, { key_id }: { key_id: string }): Promise<KeySpend> {
  const [row] = await db.run<KeySpend>(sql`
    select to_char(month, 'YYYY-MM') as month, pending_usd_micro as pending, posted_usd_micro as posted, open_requests as open
     from key_usage where key_id = ${key_id}`);
  return row!;
}
