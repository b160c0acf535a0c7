import type { CallNumbers } from '../../db/requests/call-numbers.ts';
import type { FullRow, MarginRow } from '../../db/requests/margins.ts';
import { requestLine } from '../../core/request/line.ts';
import type { Output, Progress } from '../../core/request/request.ts';
import {
  callNumbers as numbersOf,
  expiry,
  failureOf,
  outputsGone,
  outputUrl,
  type Links,
} from '../../core/request/views.ts';
import type { DeliveryRow } from '../../db/requests/deliveries.ts';
import type { EntryRow } from '../../db/requests/request-pages.ts';
import type { AttemptRow } from '../../db/requests/request-lists.ts';
import type { CardRow } from '../../db/requests/requests.ts';
import { redact } from '../../lib/log.ts';
import { Estimate, KindName } from '../api/model-schema.ts';
import * as s from '../schemas/schema.ts';
import {
  callNumbers,
  failure,
  keyId,
  line,
  metadata,
  modelId,
  moments,
  money,
  requestId,
  StatusName,
} from './schema.ts';

/**
 * A request on the web pages and for the operator. A view has all fields that its row gives; the
 * schema of a reply has the parts that its reader has a right to, and leaves out the others.
 */

const webhookState = s.nullable(
  s.named('WebhookState', s.choice(['pending', 'delivered', 'failed'])),
);
export const progress = s.nullable(s.number('From 0 to 1.'));
const refunded_usd_micro = s.microUsd('The part of the charge that was given back.');

/** For everybody who may see the request. */
export const facts = {
  request_id: requestId,
  model_id: modelId,
  kind: KindName,
  status: StatusName,
  ...money,
  ...moments,
};

export const ofAccount = {
  account_id: s.id(),
  email: s.text('The address of its account.'),
  account_name: s.nullable(s.text()),
};

/** For people of its account. */
const ofCaller = { key_id: keyId, metadata, ...callNumbers };

/** For the operator. */
const ofOperator = {
  request_id: requestId,
  model_id: modelId,
  kind: KindName,
  upstream: s.text(),
  status: StatusName,
  ...money,
  refunded_usd_micro,
  cost_usd_micro: s.nullable(s.microUsd('Null: not known.')),
  margin_usd_micro: s.nullable(s.signedMicroUsd()),
  error_code: s.nullable(s.text()),
  created_at: moments.created_at,
  completed_at: moments.completed_at,
  ...callNumbers,
  ...ofAccount,
  key_id: keyId,
};

/** One request in the list of an account. */
export const RequestEntry = s.namedObject('RequestEntry', {
  ...facts,
  ...ofCaller,
  person_id: s.nullable(s.id('The person who was signed in; null: a program with a key.')),
  progress,
  error_code: s.nullable(s.text()),
  webhook_state: webhookState,
  ...line,
});

/** A request of any account, with its cost and margin, which customers never see. */
export const AnyRequest = s.namedObject('AnyRequest', ofOperator);

const attempt = { at: s.time(), outcome: s.nullable(s.text()) };

/** One request, beside its facts. */
const details = {
  refunded_usd_micro,
  progress,
  error: s.nullable(s.object(failure)),
  quote: s.object({
    unit: s.text(),
    unit_price_usd_micro: s.microUsd(),
    quantity: s.number(),
    breakdown: Estimate.properties.breakdown,
    assumptions: s.anything(),
  }),
  delivered_quantity: s.nullable(s.number()),
  expires_at: s.nullable(s.time()),
  cleared_at: s.nullable(s.time('When the input and the output were deleted.')),
  webhook: s.nullable(
    s.object({
      url: s.url('For the operator only its origin: path and query may be a password.'),
      state: webhookState,
    }),
  ),
  deliveries: s.list(
    s.object({
      cause: s.text(),
      at: s.time(),
      status: s.nullable(s.integer()),
      error: s.nullable(s.text()),
      duration_ms: s.integer(),
    }),
  ),
};

const RequestOutput = s.namedObject('RequestOutput', {
  index: s.integer(),
  field: s.text(),
  content_type: s.text(),
  size: s.integer(),
  width: s.nullable(s.integer()),
  height: s.nullable(s.integer()),
  duration_seconds: s.nullable(s.number()),
  file_name: s.text(),
  url: s.nullable(s.url('Null: its bytes have been deleted.')),
});

/** Everything about one request except the names, costs and messages of its upstreams. */
export const RequestDetail = s.namedObject('RequestDetail', {
  ...facts,
  ...ofCaller,
  ...details,
  logs: s.list(s.text()),
  queue_position: s.nullable(s.integer()),
  input: s.anything(),
  attempts: s.list(s.object(attempt)),
  output: s.nullable(s.anything()),
  outputs: s.list(RequestOutput),
});

const UpstreamAttempt = s.namedObject('UpstreamAttempt', {
  ...attempt,
  attempt: s.integer(),
  upstream: s.text(),
  key: s.nullable(
    s.text('The key with which the upstream was called, if the upstream has several.'),
  ),
  class: s.text(),
  handle: s.nullable(s.text()),
  message: s.nullable(s.text()),
  answered_at: s.nullable(s.time()),
  left_at: s.nullable(s.time()),
  cost_usd_micro: s.nullable(s.microUsd()),
});

/** One request without its input and output. */
export const OperatorRequest = s.namedObject('OperatorRequest', {
  ...ofOperator,
  ...details,
  key: s.object({ name: s.text(), prefix: s.text(), last4: s.text() }),
  upstream_model: s.nullable(s.text()),
  tokens: s.nullable(
    s.object({
      input_tokens: s.integer(),
      output_tokens: s.integer(),
      cached_tokens: s.integer('The part of `input_tokens` that was read from a cache.'),
      reasoning_tokens: s.integer('The part of `output_tokens` that was reasoning.'),
    }),
  ),
  error_cause: s.nullable(s.text('Null if the caller saw the same message.')),
  started_at: moments.started_at,
  cancel_requested_at: moments.cancel_requested_at,
  deadline_at: s.nullable(s.time()),
  outputs_made: s.integer(),
  attempts: s.list(UpstreamAttempt),
});

/** The fields of any row of a request. */
export function viewOf<Row extends CallNumbers & { id: string }>(row: Row) {
  return { ...row, request_id: row.id, ...numbersOf(row) };
}

export function entryOf(row: EntryRow, links: Links) {
  return { ...viewOf(row), metadata: row.metadata ?? {}, ...requestLine(row, links) };
}

export function marginOf<Row extends MarginRow>(row: Row) {
  const { charged_usd_micro: charged, cost_usd_micro: cost }: MarginRow = row;
  const margin_usd_micro =
    charged === null || cost === null ? null : charged - row.refunded_usd_micro - cost;
  return { ...viewOf(row), margin_usd_micro };
}

/** The parts that are rows of other tables. */
export interface RelatedRows {
  attempts: AttemptRow[];
  deliveries: DeliveryRow[];
}

/** Messages of upstreams and receivers may contain a key. */
function detailsOf(row: CardRow | FullRow, { attempts, deliveries }: RelatedRows) {
  const { webhook_url, webhook_state: state } = row;
  return {
    error: failureOf(row),
    delivered_quantity: row.quantity,
    attempts: attempts.map(({ created_at: at, handle, message, ...more }) => ({
      ...more,
      at,
      handle: handle && redact(JSON.stringify(handle)),
      message: message && redact(message),
    })),
    webhook: webhook_url === null ? null : { url: webhook_url, state },
    deliveries: deliveries.map(({ created_at: at, error, ...more }) => {
      return { ...more, at, error: error && redact(error) };
    }),
  };
}

interface OwnBeside extends RelatedRows {
  outputs: Output[];
  progress: Progress | null;
  queue_position: number | null;
  refunded_usd_micro: bigint;
}

/** For people of its account. */
export function detailOf(row: CardRow, beside: OwnBeside, links: Links) {
  const { outputs, progress: reported, queue_position, refunded_usd_micro: refunded } = beside;
  const until = expiry(row, links);
  const isKept = !outputsGone(row, Date.now(), links);
  return {
    ...viewOf(row),
    ...detailsOf(row, beside),
    metadata: row.metadata ?? {},
    progress: reported?.progress ?? null,
    logs: reported?.logs ?? [],
    queue_position,
    refunded_usd_micro: refunded,
    outputs: outputs.map((output) => ({
      ...output,
      url: isKept ? outputUrl(row, output.index, links) : null,
    })),
    expires_at: outputs.length > 0 ? until : null,
  };
}

/** For the operator. */
export function operatorDetailOf(row: FullRow, beside: RelatedRows) {
  const { key_name: name, key_prefix: prefix, key_last4: last4, error_cause: cause } = row;
  const { webhook, ...shown } = detailsOf(row, beside);
  return {
    ...marginOf(row),
    ...shown,
    key: { name, prefix, last4 },
    error_cause: cause && redact(cause),
    webhook: webhook && { ...webhook, url: new URL(webhook.url).origin },
  };
}
