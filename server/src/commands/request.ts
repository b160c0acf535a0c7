import { formatUsd } from '../core/price/money.ts';
import { requestOfNumber } from '../core/request/call-number.ts';
import { callNumbers } from '../core/request/views.ts';
import { statuses } from '../core/request/request.ts';
import { newestOf as deliveriesOf } from '../db/requests/deliveries.ts';
import { findFull } from '../db/accounts/margins.ts';
import * as requests from '../db/requests/requests.ts';
import * as requestLists from '../db/requests/request-lists.ts';
import { anyRequest } from '../db/requests/request-pages.ts';
import { movementsOf } from '../ledger/statement.ts';
import { redact } from '../lib/log.ts';
import { isOneOf } from '../lib/records.ts';
import type { Database } from '../lib/sql/sql.ts';
import { needAccount } from '../operations/accounts/account.ts';
import { CommandFailed } from '../operations/refused.ts';
import { runAction, commandLine } from '../operations/operator-action.ts';
import { cancelRequest } from '../operations/requests/cancel-request.ts';
import { refund as refundCharge } from '../operations/accounts/refund.ts';
import { resolveOutcome } from '../operations/upstreams/unknown-outcome.ts';
import { usd } from './account.ts';
import { print, table, withDatabase, type Context } from './output.ts';
import { findingOf, type FindingOptions } from './unknown.ts';

interface ListOptions {
  status?: string;
  account?: string;
  model?: string;
  callId?: string;
  limit: number;
}

export async function list(context: Context, options: ListOptions): Promise<void> {
  const { status = null, model: model_id = null, limit } = options;
  if (status !== null && !isOneOf(statuses, status)) {
    throw new CommandFailed(
      `"${status}" is not a status of a request; statuses are ${statuses.join(', ')}.`,
    );
  }
  const rows = await withDatabase(context, async (db) => {
    const named = options.account;
    const account_id = named === undefined ? null : (await needAccount(db, named)).id;
    const call_id = options.callId?.trim() ?? null;
    const filter = { ...anyRequest, account_id, status, model_id, call_id };
    return requestLists.newest(db, filter, { limit });
  });
  printList(context, rows);
}

function printList(context: Context, rows: requestLists.ListedRow[]): void {
  const cells = rows.map((row) => [
    row.id,
    row.created_at.toISOString(),
    row.email,
    row.model_id,
    row.upstream,
    row.error_code === null ? row.status : `${row.status} ${row.error_code}`,
    formatUsd(row.quoted_usd_micro),
    row.charged_usd_micro === null ? '-' : formatUsd(row.charged_usd_micro),
  ]);
  const head = ['REQUEST ID', 'CREATED', 'ACCOUNT', 'MODEL', 'UPSTREAM', 'STATUS', 'QUOTED USD'];
  print(context, { data: rows.map(view) }, table([...head, 'CHARGED USD'], cells));
}

/** `number`: the id of a request or a number of a call. If it leads to several, they are listed. */
export async function show(
  context: Context,
  number: string,
  options: { input?: boolean },
): Promise<void> {
  const found = await withDatabase(context, (db) => findNamed(db, number.trim()));
  if (found === null) throw notThere(number);
  if (Array.isArray(found)) return printList(context, found);
  const { input, ...rest } = found;
  print(
    context,
    options.input ? { ...rest, input } : rest,
    [...told(found), ...(options.input ? [`input      ${JSON.stringify(input)}`] : [])].join('\n'),
  );
}

export async function cancel(context: Context, requestId: string): Promise<void> {
  const id = idOf(requestId);
  const answer = await withDatabase(context, (db) =>
    runAction(db, commandLine, 'request.cancel', async (within) => {
      const found = await cancelRequest(within, id);
      if (found === null) throw notThere(requestId);
      if (found.isCancelled) return found.done;
      throw new CommandFailed(
        `Only a request that is IN_QUEUE can be cancelled; this one is ${found.status}.`,
      );
    }),
  );
  print(context, answer, `${id} is cancelled. Nothing was charged.`);
}

export async function resolve(
  context: Context,
  requestId: string,
  options: FindingOptions & { attempt?: number },
): Promise<void> {
  const of = { request_id: idOf(requestId), attempt: options.attempt ?? 0 };
  const finding = findingOf(options);
  const done = await withDatabase(context, (db) => resolveOutcome(db, commandLine, of, finding));
  if (done === null && of.attempt > 0)
    throw new CommandFailed(
      `Attempt ${of.attempt} of request ${of.request_id} was not given up for another route.`,
    );
  if (done === null) throw notThere(requestId);
  const { outcome, cost: cost_usd_micro } = finding;
  const answer = { ...of, ...done, outcome, cost_usd_micro };
  print(context, answer, `Resolved: its cost is noted as ${formatUsd(cost_usd_micro)} USD.`);
}

export async function refund(
  context: Context,
  requestId: string,
  amountUsd: string | undefined,
  options: { reference: string; reason: string },
): Promise<void> {
  const request_id = idOf(requestId);
  const amount = amountUsd === undefined ? null : usd(amountUsd);
  const booked = await withDatabase(context, (db) =>
    refundCharge(db, { request_id, amount, ...options }),
  );
  if (booked === null) throw notThere(requestId);
  const done = booked.replayed ? 'was already booked; nothing was changed' : 'is booked';
  const refunded = formatUsd(booked.refunded_usd_micro);
  const available = formatUsd(booked.available_usd_micro);
  print(
    context,
    booked,
    `The refund ${done}. Refunded in all: ${refunded} USD. Available to the account: ${available} USD.`,
  );
}

/** A caller may send any id as its own number, so the id or our own number of a call goes first. */
async function findNamed(db: Database, number: string) {
  const id = requestOfNumber(number);
  const own = id === null ? null : await load(db, id);
  if (own !== null) return own;
  const filter = { ...anyRequest, call_id: number };
  const rows = await requestLists.newest(db, filter, { limit: namedMax });
  return rows.length > 1 ? rows : rows[0] ? load(db, rows[0].id) : null;
}

/** Most requests that are listed for one number of a caller. */
const namedMax = 50;

function idOf(requestId: string): string {
  const id = requestOfNumber(requestId);
  if (id === null) throw notThere(requestId);
  return id;
}

function notThere(requestId: string): CommandFailed {
  if (/^req_/i.test(requestId))
    return new CommandFailed(
      `No request was made by the call ${requestId}. If the call was refused, the log has its line.`,
    );
  return new CommandFailed(
    `There is no request with the id ${requestId}. "farebox request list" shows the newest.`,
  );
}

type Found = NonNullable<Awaited<ReturnType<typeof load>>>;

async function load(db: Database, id: string) {
  const [[row], full, transfers, attempts, deliveries] = await Promise.all([
    requests.findCards(db, [id]),
    findFull(db, id),
    movementsOf(db, id),
    requestLists.attemptsOf(db, id),
    deliveriesOf(db, id),
  ]);
  if (!row) return null;
  const { email } = await needAccount(db, row.account_id);
  const { quote, input, error_message, webhook_url, quantity } = row;
  const { cost_usd_micro = null, error_cause: cause = null } = full ?? {};
  // Redacted as in the log, because an upstream may repeat one of our keys.
  const error_cause = cause === null ? null : redact(cause);
  const about = { quote, quantity, cost_usd_micro, error_message, error_cause, webhook_url };
  return { ...view({ ...row, email }), ...about, transfers, attempts, deliveries, input };
}

function view(row: requestLists.ListedRow) {
  return {
    request_id: row.id,
    account_id: row.account_id,
    email: row.email,
    key_id: row.key_id,
    model_id: row.model_id,
    kind: row.kind,
    upstream: row.upstream,
    status: row.status,
    error_code: row.error_code,
    quoted_usd_micro: row.quoted_usd_micro,
    charged_usd_micro: row.charged_usd_micro,
    webhook_state: row.webhook_state,
    ...callNumbers(row),
    created_at: row.created_at,
    started_at: row.started_at,
    completed_at: row.completed_at,
    expires_at: row.expires_at,
  };
}

function told(found: Found): string[] {
  const { charged_usd_micro: charged, cost_usd_micro: cost, webhook_state, webhook_url } = found;
  // If the answer to a start ended the request, no separate outcome is stored.
  const none = found.completed_at === null ? 'no answer yet' : 'its answer ended the request';
  const error = found.error_code === null ? '' : `  ${found.error_code}: ${found.error_message}`;
  return [
    `${found.request_id}  ${found.status}${error}`,
    `account    ${found.email}, key ${found.key_id}`,
    `call       ${found.call_id ?? '-'}${found.caller_id === null ? '' : `, the caller's ${found.caller_id}`}`,
    `model      ${found.model_id} at ${found.upstream}`,
    `quoted     ${formatUsd(found.quoted_usd_micro)} USD`,
    `charged    ${charged === null ? '-' : `${formatUsd(charged)} USD`}`,
    `cost       ${cost === null ? 'not known' : `${formatUsd(cost)} USD at the upstream`}`,
    ...(found.error_cause === null ? [] : [`cause      ${found.error_cause}`]),
    `created    ${time(found.created_at)}`,
    `started    ${time(found.started_at)}`,
    `completed  ${time(found.completed_at)}`,
    ...found.transfers.map(
      (row) =>
        `transfer   ${time(row.created_at)}  ${row.kind} ${formatUsd(row.amount_usd_micro)} USD`,
    ),
    ...found.attempts.map(
      (row) =>
        `attempt    ${time(row.created_at)}  ${row.attempt} at ${row.upstream}${keyWords(row)}: ${row.outcome ?? none}${leftWords(row)}${row.message === null ? '' : `: ${row.message}`}`,
    ),
    ...(webhook_url === null ? [] : [`webhook    ${webhook_state} ${webhook_url}`]),
    ...found.deliveries.map(
      (row) =>
        `delivery   ${time(row.created_at)}  ${row.status ?? 'no status'} after ${row.duration_ms} ms${row.error === null ? '' : `: ${row.error}`}`,
    ),
  ];
}

function time(at: Date | null): string {
  return at === null ? '-' : at.toISOString();
}

function keyWords({ key }: requestLists.AttemptRow): string {
  return key === null ? '' : ` with key ${key}`;
}

function leftWords({ left_at, cost_usd_micro: cost }: requestLists.AttemptRow): string {
  if (left_at === null) return '';
  const words = cost === null ? 'at an unknown cost' : `at ${formatUsd(cost)} USD`;
  return `, given up for the next route, ${words}`;
}
