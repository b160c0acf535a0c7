import type { AttemptOutcome, Output, Progress } from './request.ts';
import { expiry, failureOf, outputUrl, type CardRow, type Links, type Row } from './views.ts';

/** What the web pages show of a request: a line of the list, and everything about one. */

interface EntryRow extends Row {
  progress: number | null;
  webhook_state: string | null;
  outputs: number;
  output_index: number | null;
  output_type: string | null;
}

/** With its progress, and its first output while that is kept. */
export function pageEntry(row: EntryRow, links: Links) {
  const { output_index, output_type } = row;
  return {
    ...facts(row),
    progress: row.progress,
    error_code: row.error_code,
    webhook_state: row.webhook_state,
    outputs: row.outputs,
    preview:
      output_index === null || output_type === null
        ? null
        : { url: outputUrl(row, output_index, links), content_type: output_type },
  };
}

interface DetailRow extends CardRow {
  expires_at: Date | null;
  cleared_at: Date | null;
}

interface Beside {
  now: Date;
  outputs: Output[];
  progress: Progress | null;
  queue_position: number | null;
  attempts: { created_at: Date; outcome: AttemptOutcome }[];
  deliveries: {
    created_at: Date;
    status: number | null;
    error: string | null;
    duration_ms: number;
  }[];
}

/** Does not name an upstream, or tell what one charged or said. */
export function pageDetail(row: DetailRow, beside: Beside, links: Links) {
  const { unit, unit_price_usd_micro, quantity, breakdown, assumptions } = row.quote;
  const { outputs, attempts, deliveries, progress } = beside;
  const until = expiry(row, links);
  const kept = row.expires_at !== null && until > beside.now;
  return {
    ...facts(row),
    progress: progress?.progress ?? null,
    logs: progress?.logs ?? [],
    queue_position: beside.queue_position,
    error: row.error_code === null ? null : failureOf(row),
    input: row.input,
    quote: { unit, unit_price_usd_micro, quantity, breakdown, assumptions },
    delivered_quantity: row.quantity,
    attempts: attempts.map(({ created_at, outcome }) => {
      return { at: created_at.toISOString(), outcome };
    }),
    output: row.output,
    outputs: outputs.map((output) => ({
      index: output.index,
      field: output.field,
      content_type: output.content_type,
      size: output.size,
      width: output.width,
      height: output.height,
      duration_seconds: output.duration_seconds,
      file_name: output.file_name,
      /** Null: its bytes are gone. */
      url: kept ? outputUrl(row, output.index, links) : null,
    })),
    expires_at: outputs.length > 0 ? until.toISOString() : null,
    cleared_at: row.cleared_at?.toISOString() ?? null,
    webhook: row.webhook_url === null ? null : { url: row.webhook_url, state: row.webhook_state },
    deliveries: deliveries.map(({ created_at, status, error, duration_ms }) => {
      return { at: created_at.toISOString(), status, error, duration_ms };
    }),
  };
}

function facts(row: Row) {
  return {
    request_id: row.id,
    model_id: row.model_id,
    kind: row.kind,
    status: row.status,
    quoted_usd_micro: String(row.quoted_usd_micro),
    charged_usd_micro: row.charged_usd_micro === null ? null : String(row.charged_usd_micro),
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    completed_at: row.completed_at?.toISOString() ?? null,
    key_id: row.key_id,
  };
}
