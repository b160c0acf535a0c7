import { ApiError } from '../../core/errors.ts';
import { isFinal } from '../../core/request/request.ts';
import { may } from '../../core/account/role.ts';
import { webhookBody } from '../../core/request/prediction.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as deliveries from '../../db/requests/deliveries.ts';
import * as people from '../../db/accounts/people.ts';
import * as requests from '../../db/requests/requests.ts';
import { urlLengthMax } from '../../lib/outbound/address.ts';
import { faultIn } from '../../lib/outbound/fetch-error.ts';
import { newId } from '../../lib/id.ts';
import { retireWebhookSecret, rotateWebhookSecret } from '../../operations/accounts/account.ts';
import { sendNotification, type SentNotification } from '../../operations/requests/notification.ts';
import { demandWebhookUrl } from '../../operations/requests/check-media.ts';
import { webhookFetch } from '../../operations/requests/webhook-fetch.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';
import type { SessionRequest, WebDeps } from '../session/session-request.ts';

/** The page of webhooks: secrets, deliveries, and sending by hand. */

const pageSize = 50;
/** Limit of an account's tests and resends. */
const sendsMax = { max: 30, seconds: 60 };

const Secrets = s.namedObject('WebhookSecrets', { secrets: s.list(s.text()) });

/** GET /webhooks: the signing secrets, in full only for people with the right to build. */
export const read = sessionEndpoint({ reply: Secrets }, async ({ req }, { db }) => {
  const account = await accounts.find(db, req.account_id);
  const shown = (secret: string) => (may(req.role, 'build') ? secret : `${secret.slice(0, 8)}…`);
  return { secrets: account!.webhook_secrets.map(shown) };
});

/** POST /webhooks/rotate: adds a new secret; it and the present secret sign from now on. */
export const rotate = sessionEndpoint({ reply: Secrets }, async ({ req }, { db }) => ({
  secrets: await rotateWebhookSecret(db, req.account_id),
}));

/** POST /webhooks/retire: the older of two secrets stops signing. */
export const retire = sessionEndpoint({ reply: Secrets }, async ({ req }, { db }) => ({
  secrets: await retireWebhookSecret(db, req.account_id),
}));

const result = {
  status: s.nullable(s.integer('Null: no answer came.')),
  error: s.nullable(s.text()),
  fault: s.nullable(s.text('The network error that caused it.')),
  duration_ms: s.integer(),
};
const SendResult = s.namedObject('SendResult', { delivered: s.boolean(), ...result });

/** POST /webhooks/test: sends an example to the URL and returns what came back. */
export const test = sessionEndpoint(
  {
    body: s.form({ url: s.text(undefined, { minLength: 1, maxLength: urlLengthMax }) }),
    reply: SendResult,
  },
  async ({ req, body: { url } }, deps) => {
    await demandWebhookUrl(url, 'url', req.account_id, deps);
    const request_id = newId();
    const response_url = `${deps.links.baseUrl}/requests/${request_id}/response`;
    const body = JSON.stringify({ type: 'test', request_id, status: 'COMPLETED', response_url });
    const sent = await send(req, deps, { id: `test_${request_id}`, url, body });
    await record(req, deps, { cause: 'test', request_id: null, url }, sent);
    return withFault(sent);
  },
);

/** POST /requests/:request_id/resend: sends the notification of an ended request once more. */
export const resend = sessionEndpoint(
  { params: ['request_id'], reply: SendResult },
  async ({ req, params }, deps) => {
    const { db, links } = deps;
    const id = requireId(params.request_id);
    const request = await deps.operations.card(id);
    if (request?.account_id !== req.account_id) throw new ApiError('not_found');
    if (!isFinal(request.status)) {
      throw new ApiError('request_not_ready', {
        message: 'The request has not ended. Its webhook is sent when it does.',
        details: { status: request.status },
      });
    }
    const { webhook_url: url } = request;
    if (url === null)
      throw new ApiError('bad_request', {
        message: 'This request has no webhook_url.',
        reason: 'webhook_none',
      });
    const outputs = await requests.findOutputs(db, [id]);
    const body = webhookBody(request, outputs, Date.now(), links);
    const sent = await send(req, deps, { id, url, body });
    await record(req, deps, { cause: 'resend', request_id: id, url }, sent);
    if (sent.delivered) await deliveries.noteResent(db, id);
    return withFault(sent);
  },
);

async function send(
  { account_id }: SessionRequest,
  { db, fetches, settings }: WebDeps,
  what: { id: string; url: string; body: string },
): Promise<SentNotification> {
  const key = `webhook ${account_id}`;
  if (!(await people.countTry(db, { id: newId(), key, ...sendsMax }))) {
    throw new ApiError('rate_limited', {
      message: `At most ${sendsMax.max} tests and resends are allowed in a minute. Wait, then try again.`,
      reason: 'sends_too_many',
      details: { limit: sendsMax.max },
      headers: { 'retry-after': String(sendsMax.seconds) },
    });
  }
  const account = await accounts.find(db, account_id);
  const how = { fetch: webhookFetch(account!, fetches), timeoutMs: settings.times.webhookMs };
  return sendNotification({ ...what, secrets: account!.webhook_secrets }, how);
}

async function record(
  { account_id }: SessionRequest,
  { db }: WebDeps,
  what: { cause: 'test' | 'resend'; request_id: string | null; url: string },
  { status, error, duration_ms }: SentNotification,
): Promise<void> {
  const id = newId();
  await deliveries.insert(db, { id, account_id, ...what, status, error, duration_ms });
}

const Delivery = s.namedObject('Delivery', {
  delivery_id: s.id(),
  request_id: s.nullable(s.id()),
  cause: s.choice(['final', 'resend', 'test', 'low_balance']),
  url: s.text(),
  ...result,
  created_at: s.time(),
});

/** GET /deliveries: newest first. */
export const list = sessionEndpoint(
  {
    query: s.form({
      failed: s.optional(s.boolean('Only failed deliveries.')),
      cursor: s.pageQuery(pageSize).cursor,
    }),
    reply: s.pageOf(Delivery),
  },
  async ({ req, query }, { db }) => {
    const { failed = false, cursor: below_id = null } = query;
    const { account_id } = req;
    const limit = pageSize + 1;
    const rows = await deliveries.list(db, { account_id, failed, below_id, limit });
    return pageFrom(rows, { limit: pageSize }, view);
  },
);

/** GET /requests/:request_id/deliveries: deliveries about one request, newest first. */
export const ofRequest = sessionEndpoint(
  { params: ['request_id'], query: s.form(s.pageQuery(pageSize)), reply: s.pageOf(Delivery) },
  async ({ req, params, query }, { db, operations }) => {
    const request_id = requireId(params.request_id);
    const request = await operations.status(request_id);
    if (request?.account_id !== req.account_id) throw new ApiError('not_found');
    const page = { request_id, below_id: query.cursor ?? null, limit: query.limit + 1 };
    return pageFrom(await deliveries.listOfRequest(db, page), query, view);
  },
);

function view({ id: delivery_id, ...row }: deliveries.DeliveryRow) {
  return { delivery_id, ...withFault(row) };
}

function withFault<T extends { error: string | null }>(sent: T) {
  return { ...sent, fault: sent.error && faultIn(sent.error) };
}
