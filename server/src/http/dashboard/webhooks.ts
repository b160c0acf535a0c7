import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { isFinal } from '../../core/request/request.ts';
import { may } from '../../core/account/role.ts';
import { notificationBody } from '../../core/request/views.ts';
import * as accounts from '../../db/accounts.ts';
import * as deliveries from '../../db/deliveries.ts';
import * as people from '../../db/people.ts';
import * as requests from '../../db/requests.ts';
import { isUuid, newId } from '../../lib/id.ts';
import { retireWebhookSecret, rotateWebhookSecret } from '../../operations/account.ts';
import { sendNotification, type Sent } from '../../operations/notification.ts';
import { judgePublic } from '../../operations/check-media.ts';
import { inWords, text } from '../session/entry.ts';
import { readForm, type Visit, type WebDeps } from '../session/visit.ts';

/** The page of webhooks: secrets, what was sent, and sending by hand. */

const pageSize = 50;
/** By hand, of one account. */
const sendsMax = { max: 30, seconds: 60 };

/** GET /webhooks: the signing secrets; whole for who builds with them. */
export async function read(visit: Visit, _reply: FastifyReply, { db }: WebDeps): Promise<unknown> {
  const account = await accounts.find(db, visit.account_id);
  return { secrets: account!.webhook_secrets.map((secret) => shown(secret, visit)) };
}

/** POST /webhooks/rotate: a new secret beside the one there is; both sign from now on. */
export async function rotate(
  visit: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  return { secrets: await inWords(rotateWebhookSecret(db, visit.account_id)) };
}

/** POST /webhooks/retire: the older of two secrets signs no more. */
export async function retire(
  visit: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  return { secrets: await inWords(retireWebhookSecret(db, visit.account_id)) };
}

function shown(secret: string, { role }: Visit): string {
  return may(role, 'build') ? secret : `${secret.slice(0, 8)}…`;
}

/** POST /webhooks/test {url}: sends an example there and says what came back. */
export async function test(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const url = text(await readForm(visit, deps), 'url', 2048);
  const bad = (reason: string) =>
    new ApiError('bad_webhook_url', { message: `url ${reason}.`, param: 'url' });
  await judgePublic(url, deps, deps.settings.webhookHttpsOnly, bad);
  const request_id = newId();
  const response_url = `${deps.links.baseUrl}/requests/${request_id}/response`;
  const body = JSON.stringify({ type: 'test', request_id, status: 'COMPLETED', response_url });
  const sent = await send(visit, deps, { id: `test_${request_id}`, url, body });
  await record(visit, deps, { cause: 'test', request_id: null, url }, sent);
  return outcome(sent);
}

/** POST /requests/:request_id/resend: tells the end of a request once more. */
export async function resend(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const { db, links } = deps;
  const { request_id: id } = visit.params as { request_id: string };
  const request = isUuid(id) ? await deps.operations.card(id) : null;
  if (request?.account_id !== visit.account_id) throw new ApiError('not_found');
  if (!isFinal(request.status)) {
    throw new ApiError('request_not_ready', {
      message: 'The request has not ended. Its webhook is sent when it does.',
      details: { status: request.status },
    });
  }
  const { webhook_url: url } = request;
  if (url === null)
    throw new ApiError('bad_request', { message: 'This request has no webhook_url.' });
  const body = notificationBody(request, await requests.findOutputs(db, [id]), links);
  const sent = await send(visit, deps, { id, url, body });
  await record(visit, deps, { cause: 'resend', request_id: id, url }, sent);
  if (sent.delivered) await deliveries.noteResent(db, id);
  return outcome(sent);
}

async function send(
  { account_id }: Visit,
  { db, webhooks: fetch, settings }: WebDeps,
  what: { id: string; url: string; body: string },
): Promise<Sent> {
  const key = `webhook ${account_id}`;
  if (!(await people.countTry(db, { id: newId(), key, ...sendsMax }))) {
    throw new ApiError('rate_limited', {
      message: `At most ${sendsMax.max} are sent by hand in a minute.`,
      headers: { 'retry-after': String(sendsMax.seconds) },
    });
  }
  const account = await accounts.find(db, account_id);
  const how = { fetch, timeoutMs: settings.times.webhookMs };
  return sendNotification({ ...what, secrets: account!.webhook_secrets }, how);
}

async function record(
  { account_id }: Visit,
  { db }: WebDeps,
  what: { cause: 'test' | 'resend'; request_id: string | null; url: string },
  { status, error, duration_ms }: Sent,
): Promise<void> {
  const id = newId();
  await deliveries.insert(db, { id, account_id, ...what, status, error, duration_ms });
}

function outcome({ delivered, status, error, duration_ms }: Sent) {
  return { delivered, status, error, duration_ms };
}

/** GET /deliveries?failed=&cursor=: newest first. */
export async function list(visit: Visit, _reply: FastifyReply, { db }: WebDeps): Promise<unknown> {
  const { cursor, failed } = visit.query as Record<string, unknown>;
  if (cursor !== undefined && !isUuid(cursor)) {
    throw new ApiError('bad_request', {
      message: 'cursor must be a next_cursor of this list.',
      param: 'cursor',
    });
  }
  const rows = await deliveries.list(db, {
    account_id: visit.account_id,
    failed: failed === 'true',
    below_id: cursor ?? null,
    limit: pageSize + 1,
  });
  const page = rows.slice(0, pageSize);
  return {
    data: page.map(view),
    next_cursor: rows.length > pageSize ? page.at(-1)!.id : null,
  };
}

/** GET /requests/:request_id/deliveries: all that was sent about one request. */
export async function ofRequest(
  visit: Visit,
  _reply: FastifyReply,
  { db, operations }: WebDeps,
): Promise<unknown> {
  const { request_id: id } = visit.params as { request_id: string };
  const request = isUuid(id) ? await operations.status(id) : null;
  if (request?.account_id !== visit.account_id) throw new ApiError('not_found');
  return { data: (await deliveries.ofRequest(db, id)).map(view) };
}

function view({ id, attempt: _attempt, created_at, ...delivery }: deliveries.DeliveryRow) {
  return { delivery_id: id, ...delivery, created_at: created_at.toISOString() };
}
