import type { FailureCode, FailureDetails } from '../errors.ts';
import { decodable } from '../media/input-types.ts';
import type { Output } from './request.ts';
import {
  requestUrls,
  callNumbers,
  expiry,
  failureOf,
  outputUrl,
  type Links,
  type RequestFacts,
} from './views.ts';

/** A request as one line of a list, with all that a list shows, so that no line needs a call. */

/** More outputs of a request are only counted. */
export const lineOutputsMax = 12;

export type LineOutput = Omit<Output, 'storage_key' | 'sha256'>;

interface Line {
  prompt: string | null;
  favorite: boolean;
  error_message: string | null;
  error_details: FailureDetails | null;
  output_count: number;
  kept: LineOutput[] | null;
}

type LineRow = Line &
  Pick<RequestFacts, 'id' | 'completed_at'> & { error_code: FailureCode | null };

/** An SVG is never drawn here, so it has no thumbnail. */
export function hasThumbnail({ content_type }: Pick<Output, 'content_type'>): boolean {
  return decodable.has(content_type);
}

/** The parts of a line that come from other tables than the request's. */
export function requestLine(row: LineRow, links: Links) {
  const { prompt, favorite, output_count } = row;
  const kept = row.kept ?? [];
  const outputs = kept.map((output) => lineOutput(row, output, kept, links));
  const expires_at = outputs.length > 0 ? expiry(row, links) : null;
  return { prompt, favorite, error: failureOf(row), outputs, output_count, expires_at };
}

function lineOutput(row: LineRow, output: LineOutput, all: LineOutput[], links: Links) {
  const { index, field, content_type, width, height, duration_seconds, size, file_name } = output;
  const url = outputUrl(row, index, links);
  const shown = hasThumbnail(output) ? output : posterOf(output, all);
  return {
    index,
    field,
    url,
    thumbnail_url: shown && `${outputUrl(row, shown.index, links)}&size=card`,
    content_type,
    ...(width !== null && { width }),
    ...(height !== null && { height }),
    ...(duration_seconds !== null && { duration: duration_seconds }),
    file_size: size,
    file_name,
  };
}

/** The picture that a model sent beside its film. */
function posterOf({ content_type }: LineOutput, all: LineOutput[]): LineOutput | null {
  if (!content_type.startsWith('video/')) return null;
  const isPoster = (each: LineOutput) =>
    hasThumbnail(each) && /thumbnail|poster|cover|preview/i.test(each.field);
  return all.find(isPoster) ?? null;
}

/** One line of the API's list of requests. */
export function listEntry(row: RequestFacts & Line, links: Links) {
  return {
    request_id: row.id,
    model_id: row.model_id,
    kind: row.kind,
    status: row.status,
    quoted_usd_micro: row.quoted_usd_micro,
    charged_usd_micro: row.charged_usd_micro,
    error_code: row.error_code,
    ...requestLine(row, links),
    created_at: row.created_at,
    started_at: row.started_at,
    completed_at: row.completed_at,
    cancel_requested_at: row.cancel_requested_at,
    ...requestUrls(row.id, links),
    key_id: row.key_id,
    metadata: row.metadata ?? {},
    ...callNumbers(row),
  };
}
