import { replicateName } from '../catalog/replicate-name.ts';
import type { ApiError, ErrorCode } from '../errors.ts';
import { isFinal, type Output, type Progress } from './request.ts';
import {
  failureOf,
  notificationBody,
  outputsGone,
  outputUrl,
  type CardFacts,
  type Links,
} from './views.ts';
import { itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { fileId } from './file-id.ts';

/** Requests and errors in the form of Replicate, for Replicate's own client. Pure. */

export interface PredictionRow extends CardFacts {
  expires_at: Date | null;
  cleared_at: Date | null;
}

const states = {
  IN_QUEUE: 'starting',
  IN_PROGRESS: 'processing',
  COMPLETED: 'succeeded',
  FAILED: 'failed',
  CANCELLED: 'canceled',
} as const;

/** Base address of the routes for Replicate's client, next to /v1. */
export function replicateBase({ baseUrl }: Pick<Links, 'baseUrl'>): string {
  return baseUrl.replace(/\/v1$/, '/replicate/v1');
}

/** Base address of uploads, as Replicate's client gets it. */
export function replicateFiles(links: Pick<Links, 'baseUrl'>): string {
  return `${replicateBase(links)}/files`;
}

interface StoredFile {
  id: string;
  content_type: string;
  size: bigint;
  sha256: string;
  metadata: Json | null;
  created_at: Date;
  expires_at: Date;
}

/** An upload in the form of Replicate. */
export function replicateFile({ sha256, metadata, ...row }: StoredFile, links: Links) {
  const { content_type, size, created_at, expires_at } = row;
  const id = fileId(row.id);
  return {
    id,
    content_type,
    size,
    checksums: { sha256 },
    metadata: metadata ?? {},
    created_at,
    expires_at,
    urls: { get: `${replicateFiles(links)}/${id}` },
  };
}

export function predictionOf(
  row: PredictionRow,
  reported: Progress | null,
  outputs: Output[],
  nowMs: number,
  links: Links,
) {
  const { id, status, door, created_at, started_at, completed_at } = row;
  const isGone = outputs.length > 0 && outputsGone(row, nowMs, links);
  const removed = row.cleared_at !== null || (status === 'COMPLETED' && isGone);
  const get = `${replicateBase(links)}/predictions/${id}`;
  return {
    id,
    model: door?.model ?? replicateName(row.model_id),
    version: door?.version ?? 'hidden',
    input: row.input,
    output: status === 'COMPLETED' && !removed ? outputOf(row, outputs, links) : null,
    error: failureOf(row)?.message ?? null,
    status: states[status],
    logs: reported?.logs.join('\n') ?? '',
    metrics: isFinal(status) ? metricsOf(row) : {},
    source: 'api' as const,
    data_removed: removed,
    created_at: created_at.toISOString(),
    started_at: started_at?.toISOString() ?? null,
    completed_at: completed_at?.toISOString() ?? null,
    urls: { get, cancel: `${get}/cancel` },
  };
}

/** One address, a list of them, or the model's own fields if it made no media. */
function outputOf(row: PredictionRow, outputs: Output[], links: Links) {
  const [first, ...others] = outputs;
  if (first === undefined) return row.output;
  if (others.length === 0 && !first.field.endsWith('s')) return outputUrl(row, first.index, links);
  return outputs.map(({ index }) => outputUrl(row, index, links));
}

function metricsOf({ created_at, started_at, completed_at }: PredictionRow) {
  const seconds = (from: Date) => (completed_at!.getTime() - from.getTime()) / 1000;
  return {
    ...(started_at && { predict_time: seconds(started_at) }),
    total_time: seconds(created_at),
  };
}

/** The body of a webhook, in the form of the API that its request came through. */
export function webhookBody(
  row: PredictionRow,
  outputs: Output[],
  nowMs: number,
  links: Links,
): string {
  if (row.door === null) return notificationBody(row, outputs, links);
  return JSON.stringify(predictionOf(row, null, outputs, nowMs, links));
}

/** Codes for which Replicate uses another status. */
const statuses: Partial<Record<ErrorCode, number>> = { invalid_input: 422, unpriceable: 422 };

const titles: Record<number, string> = {
  401: 'Unauthenticated',
  402: 'Insufficient credit',
  403: 'Forbidden',
  404: 'Not found',
  409: 'Conflict',
  422: 'Input validation failed',
  429: 'Too many requests',
};

/** The error as Replicate would send it. The HTTP layer adds our own error to the body. */
export function replicateRefusal({ code, status: own, message, param, details }: ApiError) {
  const status = own === 400 ? (statuses[code] ?? own) : own;
  const title = titles[status] ?? (status < 500 ? 'Bad request' : 'Service unavailable');
  const faults = itemsOf(details?.errors).map((fault) => {
    const { path, message: description } = objectOf(fault);
    return { type: code, field: `input${String(path).replaceAll('/', '.')}`, description };
  });
  const named = param === null ? [] : [{ type: code, field: param, description: message }];
  const invalid_fields = faults.length > 0 ? faults : named;
  const isInput = status === 422 && invalid_fields.length > 0;
  return { status, body: { title, detail: message, status, ...(isInput && { invalid_fields }) } };
}
