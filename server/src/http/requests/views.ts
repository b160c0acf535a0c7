import type { CallNumbers } from '../../db/requests/call-numbers.ts';
import type { FullRow, MarginRow } from '../../db/accounts/margins.ts';
import { statuses, type Output, type Progress } from '../../core/request/request.ts';
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
import {
  anything,
  choice,
  id,
  integer,
  list,
  microUsd,
  named,
  nullable,
  number,
  object,
  signedMicroUsd,
  text,
  time,
  url,
} from '../schemas/schema.ts';
import {
  callNumbers,
  failure,
  keyId,
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

const webhookState = nullable(named('WebhookState', choice(['pending', 'delivered', 'failed'])));
export const progress = nullable(number('From 0 to 1.'));
const refunded_usd_micro = microUsd('The part of the charge that was given back.');

/** For everybody who may see the request. */
export const facts = {
  request_id: requestId,
  model_id: modelId,
  kind: KindName,
  status: StatusName,
  ...money,
  ...moments,
};

/** For people of its account. */
const ofCaller = { key_id: keyId, metadata, ...callNumbers };

/** For the operator. */
const ofOperator = {
  request_id: requestId,
  model_id: modelId,
  kind: choice(['video', 'image', 'text']),
  upstream: text(),
  status: choice(statuses),
  ...money,
  refunded_usd_micro,
  cost_usd_micro: nullable(microUsd('Null: not known.')),
  margin_usd_micro: nullable(signedMicroUsd()),
  error_code: nullable(text()),
  created_at: moments.created_at,
  completed_at: moments.completed_at,
  ...callNumbers,
  account_id: id(),
  key_id: keyId,
};

/** One request in the list of an account. */
export const RequestEntry = named(
  'RequestEntry',
  object({
    ...facts,
    ...ofCaller,
    progress,
    error_code: nullable(text()),
    webhook_state: webhookState,
    outputs: integer('Number of outputs that are still kept.'),
    preview: nullable(
      object({ url: url(), content_type: text() }, { description: 'The first output.' }),
    ),
  }),
);

/** A request of any account, with its cost and margin, which customers never see. */
export const AnyRequest = named('AnyRequest', object(ofOperator));

const attempt = { at: time(), outcome: nullable(text()) };

/** One request, beside its facts. */
const details = {
  refunded_usd_micro,
  progress,
  error: nullable(object(failure)),
  quote: object({
    unit: text(),
    unit_price_usd_micro: microUsd(),
    quantity: number(),
    breakdown: Estimate.properties.breakdown,
    assumptions: anything(),
  }),
  delivered_quantity: nullable(number()),
  expires_at: nullable(time()),
  cleared_at: nullable(time('When the input and the output were deleted.')),
  webhook: nullable(
    object({
      url: url('For the operator only its origin: path and query may be a password.'),
      state: webhookState,
    }),
  ),
  deliveries: list(
    object({
      cause: text(),
      at: time(),
      status: nullable(integer()),
      error: nullable(text()),
      duration_ms: integer(),
    }),
  ),
};

const RequestOutput = named(
  'RequestOutput',
  object({
    index: integer(),
    field: text(),
    content_type: text(),
    size: integer(),
    width: nullable(integer()),
    height: nullable(integer()),
    duration_seconds: nullable(number()),
    file_name: text(),
    url: nullable(url('Null: its bytes have been deleted.')),
  }),
);

/** Everything about one request except the names, costs and messages of its upstreams. */
export const RequestDetail = named(
  'RequestDetail',
  object({
    ...facts,
    ...ofCaller,
    ...details,
    logs: list(text()),
    queue_position: nullable(integer()),
    input: anything(),
    attempts: list(object(attempt)),
    output: nullable(anything()),
    outputs: list(RequestOutput),
  }),
);

const UpstreamAttempt = named(
  'UpstreamAttempt',
  object({
    ...attempt,
    attempt: integer(),
    upstream: text(),
    key: nullable(text('The key with which the upstream was called, if the upstream has several.')),
    class: text(),
    handle: nullable(text()),
    message: nullable(text()),
    answered_at: nullable(time()),
    left_at: nullable(time()),
    cost_usd_micro: nullable(microUsd()),
  }),
);

/** One request without its input and output. */
export const OperatorRequest = named(
  'OperatorRequest',
  object({
    ...ofOperator,
    ...details,
    email: text(),
    key: object({ name: text(), prefix: text(), last4: text() }),
    upstream_model: nullable(text()),
    tokens: nullable(
      object({
        input_tokens: integer(),
        output_tokens: integer(),
        cached_tokens: integer('The part of `input_tokens` that was read from a cache.'),
        reasoning_tokens: integer('The part of `output_tokens` that was reasoning.'),
      }),
    ),
    error_cause: nullable(text('Null if the caller saw the same message.')),
    started_at: moments.started_at,
    cancel_requested_at: moments.cancel_requested_at,
    deadline_at: nullable(time()),
    outputs_made: integer(),
    attempts: list(UpstreamAttempt),
  }),
);

/** The fields of any row of a request. */
export function viewOf<Row extends CallNumbers & { id: string }>(row: Row) {
  return { ...row, request_id: row.id, ...numbersOf(row) };
}

export function entryOf(row: EntryRow, links: Links) {
  const { output_index: index, output_type: content_type } = row;
  const hasPreview = index !== null && content_type !== null;
  const preview = hasPreview ? { url: outputUrl(row, index, links), content_type } : null;
  return { ...viewOf(row), metadata: row.metadata ?? {}, preview };
}

export function marginOf<Row extends MarginRow>(row: Row) {
  const { charged_usd_micro: charged, cost_usd_micro: cost }: MarginRow = row;
  const margin_usd_micro =
    charged === null || cost === null ? null : charged - row.refunded_usd_micro - cost;
  return { ...viewOf(row), margin_usd_micro };
}

/** The parts that are rows of other tables. */
export interface Beside {
  attempts: AttemptRow[];
  deliveries: DeliveryRow[];
}

/** Messages of upstreams and receivers may contain a key. */
function detailsOf(row: CardRow | FullRow, { attempts, deliveries }: Beside) {
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

interface OwnBeside extends Beside {
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
export function operatorDetailOf(row: FullRow, beside: Beside) {
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
