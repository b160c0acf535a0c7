import { formatUsd } from '../core/price/money.ts';
import { requestOfNumber } from '../core/request/call-number.ts';
import { callNumbers } from '../core/request/views.ts';
import { statuses } from '../core/request/request.ts';
import { listNewestOf as deliveriesOf } from '../db/requests/deliveries.ts';
import { findFull } from '../db/requests/margins.ts';
import type { CallNumbers } from '../db/requests/call-numbers.ts';
import * as refusals from '../db/accounts/refusals.ts';
import * as requests from '../db/requests/requests.ts';
import * as requestLists from '../db/requests/request-lists.ts';
import { anyRequest } from '../db/requests/request-pages.ts';
import { movementsOf } from '../ledger/statement.ts';
import { refusalCodes, refusalView } from '../http/requests/refusals.ts';
import { LeftAttempt, NewReason, NewReference, NewRefund } from '../http/schemas/operator.ts';
import * as s from '../http/schemas/schema.ts';
import { redact } from '../lib/log.ts';
import type { Database } from '../lib/sql/sql.ts';
import { requireAccount } from '../operations/accounts/account.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { commandLine } from '../operations/operator-action.ts';
import { cancelRequest } from '../operations/requests/cancel-request.ts';
import { refund as refundCharge } from '../operations/accounts/refund.ts';
import { resolveOutcome } from '../operations/upstreams/unknown-outcome.ts';
import { folderOf } from './catalog.ts';
import { flag, limitOf, may, ofAccount, operand, row, says } from './command.ts';
import { accountId, act, withDatabase } from './database.ts';
import { table, type TableColumns, type CommandOutput } from './output.ts';
import { findingOptions, requireFinding } from './unknown-outcomes.ts';

const request_id = operand(s.text());

export const verbs = {
  list: row(
    'list requests, newest first',
    {
      status: s.optional(s.choice(statuses, 'only requests with this status')),
      account: ofAccount,
      model: s.optional(s.text('of one model', { word: 'id' })),
      call_id: s.optional(
        s.text("of a call with this number: ours or the caller's", { word: 'number' }),
      ),
      limit: limitOf(50),
    },
    async ({ status = null, account, model: model_id = null, call_id, limit }, context) => {
      const rows = await withDatabase(context, async (db) => {
        const account_id = await accountId(db, account);
        const named = { account_id, status, model_id, call_id: call_id?.trim() ?? null };
        return requestLists.listNewest(db, { ...anyRequest, ...named }, { limit });
      });
      return listed(rows);
    },
  ),
  refused: row(
    'list refused calls of the last seven days, newest first',
    {
      account: ofAccount,
      code: s.optional(s.choice(refusalCodes, 'only with this error code')),
      model: s.optional(s.text('of one model', { word: 'id' })),
      limit: limitOf(50),
    },
    async ({ account, code = null, model: model_id = null, limit }, context) => {
      const rows = await withDatabase(context, async (db) => {
        const account_id = await accountId(db, account);
        const all = { key_id: null, from: null, to: null, below_id: null };
        return refusals.list(db, { ...all, account_id, code, model_id, limit });
      });
      return { json: { data: rows.map(refusalView) }, text: table(rows, refusedColumns) };
    },
  ),
  show: row(
    'show one request with its money, attempts and notifications',
    {
      request_id: operand(
        s.text("the id, or a number of the call: x-request-id or the caller's own"),
      ),
      input: flag("show the caller's input too"),
    },
    async ({ request_id, input: withInput }, context) => {
      const found = await withDatabase(context, (db) => findNamed(db, request_id.trim()));
      if (found === null) throw notThere(request_id);
      // A number of the caller may lead to several.
      if (Array.isArray(found)) return listed(found);
      const { input, ...rest } = found;
      if (!withInput) return { json: rest, text: inWords(found) };
      const text = `${inWords(found)}\ninput      ${JSON.stringify(input)}`;
      return { json: { ...rest, input }, text };
    },
  ),
  cancel: row(
    'cancel a request as its caller could: a queued one is free',
    { request_id, running: flag('also ask a running job to stop, if its row has on_cancel') },
    async ({ request_id, running }, context) => {
      const id = requireId(request_id);
      const { rows } = running ? await folderOf(context) : { rows: [] };
      const ruleOf = (model_id: string) => rows.find((each) => each.id === model_id)?.on_cancel;
      const json = await act(context, 'request.cancel', async (db) => {
        const found = await cancelRequest(db, id, ruleOf);
        if (found === null) throw notThere(request_id);
        if (found.isCancelled || found.cancel_requested_at) return found.done;
        const which = running
          ? 'that is IN_QUEUE, or whose row has on_cancel,'
          : 'that is IN_QUEUE';
        throw new CommandFailed(
          `Only a request ${which} can be cancelled; this one is ${found.status}.`,
        );
      });
      const isOver = json.status === 'CANCELLED';
      const text = isOver ? 'is cancelled. Nothing was charged.' : 'is asked to stop.';
      return { json, text: `${id} ${text}` };
    },
  ),
  refund: row(
    'give back the charge of a request, or a part of it; once per reference',
    {
      request_id,
      usd: s.optional(
        operand(says(NewRefund.amount_usd_micro, 'default: what is left of the charge')),
      ),
      reference: says(NewReference, 'name of the refund outside Farebox, such as a ticket'),
      reason: says(NewReason, 'the reason; the customer sees it in the statement'),
    },
    async ({ usd, ...given }, context) => {
      const wanted = { ...given, request_id: requireId(given.request_id) };
      const amount = usd ? BigInt(usd) : null;
      const json = await withDatabase(context, (db) =>
        refundCharge(db, commandLine, { ...wanted, amount }),
      );
      if (json === null) throw notThere(given.request_id);
      const done = json.replayed ? 'was already booked; nothing was changed' : 'is booked';
      const refunded = `Refunded in all: ${formatUsd(json.refunded_usd_micro)} USD.`;
      const available = `Available to the account: ${formatUsd(json.available_usd_micro)} USD.`;
      return { json, text: `The refund ${done}. ${refunded} ${available}` };
    },
  ),
  resolve: row(
    'note the outcome of a request whose outcome is unknown',
    {
      request_id,
      attempt: may(LeftAttempt, 'number of an attempt after which the next upstream was tried'),
      ...findingOptions('its cost at the upstream, if it ran'),
    },
    async ({ request_id, attempt = 0, ...given }, context) => {
      const of = { request_id: requireId(request_id), attempt };
      const found = requireFinding(given);
      const done = await act(context, 'request.resolve', (db) =>
        resolveOutcome(db, commandLine, of, found),
      );
      if (done === null && attempt > 0)
        throw new CommandFailed(
          `Attempt ${attempt} of request ${of.request_id} was not given up for another route.`,
        );
      if (done === null) throw notThere(request_id);
      const { outcome, cost: cost_usd_micro } = found;
      const text = `Resolved: its cost is noted as ${formatUsd(cost_usd_micro)} USD.`;
      return { json: { ...of, ...done, outcome, cost_usd_micro }, text };
    },
    {
      example: ['request resolve ID --outcome did_not_run', 'an outcome can be resolved only once'],
    },
  ),
};

const columns: TableColumns<requestLists.ListedRow> = {
  'REQUEST ID': 'id',
  CREATED: 'created_at',
  ACCOUNT: 'email',
  MODEL: 'model_id',
  UPSTREAM: 'upstream',
  STATUS: ({ status, error_code }) => (error_code === null ? status : `${status} ${error_code}`),
  'QUOTED USD': 'quoted_usd_micro',
  'CHARGED USD': 'charged_usd_micro',
};

const refusedColumns: TableColumns<refusals.ListedRefusal> = {
  AT: 'created_at',
  ACCOUNT: ({ account_email, account_id }) => account_email ?? account_id,
  CALL: 'call_id',
  STATUS: 'status',
  CODE: 'code',
  MODEL: 'model_id',
  PATH: 'path',
};

function listed(rows: requestLists.ListedRow[]): CommandOutput {
  return { json: { data: rows.map(view) }, text: table(rows, columns) };
}

/** A caller may send any id as its own number, so the id or our own number of a call goes first. */
async function findNamed(db: Database, number: string) {
  const id = requestOfNumber(number);
  const own = id === null ? null : await load(db, id);
  if (own !== null) return own;
  const filter = { ...anyRequest, call_id: number };
  const rows = await requestLists.listNewest(db, filter, { limit: namedMax });
  return rows.length > 1 ? rows : rows[0] ? load(db, rows[0].id) : null;
}

/** Most requests that are listed for one number of a caller. */
const namedMax = 50;

function requireId(requestId: string): string {
  const id = requestOfNumber(requestId);
  if (id === null) throw notThere(requestId);
  return id;
}

function notThere(requestId: string): CommandFailed {
  if (/^req_/i.test(requestId))
    return new CommandFailed(
      `No request was made by the call ${requestId}. If it was refused, "farebox request refused" may list it, and the log has its line.`,
    );
  return new CommandFailed(
    `There is no request with the id ${requestId}. "farebox request list" shows the newest.`,
  );
}

type LoadedRequest = NonNullable<Awaited<ReturnType<typeof load>>>;

async function load(db: Database, id: string) {
  const [[row], full, transfers, attempts, deliveries] = await Promise.all([
    requests.findCards(db, [id]),
    findFull(db, id),
    movementsOf(db, id),
    requestLists.listAttempts(db, id),
    deliveriesOf(db, id),
  ]);
  if (!row) return null;
  const { email } = await requireAccount(db, row.account_id);
  const { quote, input, error_message, webhook_url, quantity } = row;
  const { cost_usd_micro = null, error_cause: cause = null } = full ?? {};
  // Redacted as in the log, because an upstream may repeat one of our keys.
  const error_cause = cause === null ? null : redact(cause);
  const about = { quote, quantity, cost_usd_micro, error_message, error_cause, webhook_url };
  return { ...view({ ...row, email }), ...about, transfers, attempts, deliveries, input };
}

function view(row: requests.RequestRow & CallNumbers & { email: string }) {
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
    cancel_requested_at: row.cancel_requested_at,
    expires_at: row.expires_at,
  };
}

function inWords(found: LoadedRequest): string {
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
    ...(found.cancel_requested_at === null
      ? []
      : [`cancel     asked ${time(found.cancel_requested_at)}`]),
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
  ].join('\n');
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
