import { roles } from '../../core/account/role.ts';
import { sources } from '../../core/account/source.ts';
import type { Output, Progress } from '../../core/request/request.ts';
import {
  callNumbers as numbersOf,
  expiry,
  failureOf,
  outputUrl,
  type Links,
} from '../../core/request/views.ts';
import type { DeliveryRow } from '../../db/requests/deliveries.ts';
import type { EntryRow } from '../../db/requests/request-pages.ts';
import type { AttemptRow } from '../../db/requests/request-lists.ts';
import type { CardRow } from '../../db/requests/requests.ts';
import { KindName } from '../api/model-schema.ts';
import { callNumbers, StatusName } from '../api/request-schema.ts';
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
  record,
  text,
  time,
  url,
} from '../schemas/schema.ts';

/** Schemas that several calls of the pages, or their events, share. */

export const Role = named('Role', choice(roles));

export const Funds = named(
  'Funds',
  object({
    available_usd_micro: microUsd('The amount that the account may spend.'),
    reserved_usd_micro: microUsd('Reserved for open requests.'),
  }),
);

export const SourceName = named('SourceName', choice(sources));

/** The money of deposits from one source. */
export const SourceSum = named(
  'SourceSum',
  object({ source: SourceName, amount_usd_micro: microUsd() }),
);

const webhookState = nullable(choice(['pending', 'delivered', 'failed']));

/** Metadata: names and values that the caller gave the request. */
const Pairs = record(text());

const facts = {
  request_id: id(),
  model_id: text(),
  kind: KindName,
  status: StatusName,
  progress: nullable(number('From 0 to 1.')),
  quoted_usd_micro: microUsd(),
  charged_usd_micro: nullable(microUsd()),
  created_at: time(),
  started_at: nullable(time()),
  completed_at: nullable(time()),
  key_id: id(),
  metadata: Pairs,
  ...callNumbers,
};

/** One request in the list of requests. */
export const RequestEntry = named(
  'RequestEntry',
  object({
    ...facts,
    error_code: nullable(text()),
    webhook_state: webhookState,
    outputs: integer('Number of outputs that are still kept.'),
    preview: nullable(
      object({ url: url(), content_type: text() }, { description: 'The first output.' }),
    ),
  }),
);

export function entryOf(row: EntryRow, links: Links) {
  const { id: request_id, output_index: index, output_type: content_type } = row;
  const hasPreview = index !== null && content_type !== null;
  const preview = hasPreview ? { url: outputUrl(row, index, links), content_type } : null;
  return { ...row, request_id, metadata: row.metadata ?? {}, ...numbersOf(row), preview };
}

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
    refunded_usd_micro: microUsd('The part of the charge that was given back.'),
    logs: list(text()),
    queue_position: nullable(integer()),
    error: nullable(object({ code: text(), message: text() })),
    input: anything(),
    quote: object({
      unit: text(),
      unit_price_usd_micro: microUsd(),
      quantity: number(),
      breakdown: list(
        object({
          label: text(),
          quantity: number(),
          unit_price_usd_micro: microUsd(),
          amount_usd_micro: microUsd(),
        }),
      ),
      assumptions: anything(),
    }),
    delivered_quantity: nullable(number()),
    attempts: list(object({ at: time(), outcome: nullable(text()) })),
    output: nullable(anything()),
    outputs: list(RequestOutput),
    expires_at: nullable(time()),
    cleared_at: nullable(time()),
    webhook: nullable(object({ url: url(), state: webhookState })),
    deliveries: list(
      object({
        at: time(),
        status: nullable(integer()),
        error: nullable(text()),
        duration_ms: integer(),
      }),
    ),
  }),
);

interface Beside {
  outputs: Output[];
  progress: Progress | null;
  queue_position: number | null;
  attempts: AttemptRow[];
  deliveries: DeliveryRow[];
  refunded_usd_micro: bigint;
}

export function detailOf(row: CardRow, beside: Beside, links: Links) {
  const { outputs, attempts, deliveries, progress, queue_position, refunded_usd_micro } = beside;
  const until = expiry(row, links);
  const isKept = row.expires_at !== null && until > new Date();
  return {
    ...row,
    request_id: row.id,
    metadata: row.metadata ?? {},
    ...numbersOf(row),
    progress: progress?.progress ?? null,
    logs: progress?.logs ?? [],
    queue_position,
    refunded_usd_micro,
    error: failureOf(row),
    delivered_quantity: row.quantity,
    attempts: attempts.map(({ created_at: at, outcome }) => ({ at, outcome })),
    outputs: outputs.map((output) => ({
      ...output,
      url: isKept ? outputUrl(row, output.index, links) : null,
    })),
    expires_at: outputs.length > 0 ? until : null,
    webhook: row.webhook_url === null ? null : { url: row.webhook_url, state: row.webhook_state },
    deliveries: deliveries.map(({ created_at: at, ...delivery }) => ({ at, ...delivery })),
  };
}
