import { ApiError } from '../../../core/errors.ts';
import { requestUrls, failureOf, outputUrl } from '../../../core/request/views.ts';
import * as requests from '../../../db/requests/requests.ts';
import { pieces } from '../../../lib/streams.ts';
import type { SubmitResult } from '../../../operations/requests/admit.ts';
import type { CallDeps, FileDeps } from '../../deps.ts';
import { requireOutput } from '../../requests/status.ts';

/** The reply of OpenAI's Images: written as a stream, because images in base64 can be large. */

interface WrittenReply {
  charged: string;
  /** Bytes of the whole reply. */
  length: number;
  json: AsyncIterable<string>;
}

/** A multiple of three, so that pieces of base64 can be put together. */
const pieceBytes = 3 * 64 * 1024;

/** @throws ApiError if the request failed, was cancelled or still runs, or if its output is gone */
export async function imagesReply(
  { request_id, unknown_inputs }: SubmitResult,
  format: 'url' | 'b64_json' | null,
  deps: FileDeps,
): Promise<WrittenReply> {
  const row = (await deps.operations.card(request_id))!;
  if (row.status === 'FAILED') throw failed(row);
  if (row.status !== 'COMPLETED' && row.status !== 'CANCELLED') throw stillRunning(row, deps);
  // Throws if the request was cancelled or its output is gone.
  await requireOutput(row, deps);
  const charged = String(row.charged_usd_micro ?? 0n);
  const outputs = (await requests.findOutputs(deps.db, [row.id])).filter(({ content_type }) =>
    content_type.startsWith('image/'),
  );
  const images = outputs.map((output, i) => ({
    before: `${i === 0 ? '' : ','}{${format === 'url' ? '' : '"b64_json":"'}`,
    output: format === 'url' ? null : output,
    after: `${format === 'url' ? '' : '"'}${urlOf(outputUrl(row, output.index, deps.links), format)}}`,
  }));
  const head = `{"created":${Math.floor(row.created_at.getTime() / 1000)},"data":[`;
  const usage = { ...noTokens, cost_usd_micro: charged };
  const more = { usage, request_id, ...(unknown_inputs && { unknown_inputs }) };
  const tail = `],${JSON.stringify(more).slice(1)}`;
  const length = images.reduce(
    (sum, { before, output, after }) =>
      sum + before.length + after.length + 4 * Math.ceil((output?.size ?? 0) / 3),
    head.length + Buffer.byteLength(tail),
  );
  async function* json(): AsyncGenerator<string> {
    yield head;
    for (const { before, output, after } of images) {
      yield before;
      if (output !== null) yield* base64Of(output.storage_key, deps);
      yield after;
    }
    yield tail;
  }
  return { charged, length, json: json() };
}

/** Images are not priced by tokens. */
const noTokens = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
};

function urlOf(url: string, format: 'url' | 'b64_json' | null): string {
  if (format === 'b64_json') return '';
  return `${format === null ? ',' : ''}"url":${JSON.stringify(url)}`;
}

async function* base64Of(storageKey: string, { storage }: FileDeps): AsyncGenerator<string> {
  const bytes = await storage.open(storageKey);
  if (bytes === null) throw new Error(`${storageKey} is not in the storage`);
  for await (const piece of pieces(bytes, pieceBytes)) yield Buffer.from(piece).toString('base64');
}

/** Stock clients would repeat a 502, and each repeat would be one more job. */
const isOver = { 'x-should-retry': 'false' };

/** The request's failure, as the error that a chat call would send. */
function failed(row: requests.CardRow): ApiError {
  const error = failureOf(row)!;
  const details = { request_id: row.id, status: row.status, error };
  const why = error.message.replace(/\.$/, '');
  if (error.code !== 'upstream_rejected')
    return new ApiError('submit_failed', {
      message: `${why}. Nothing was charged.`,
      details,
      headers: isOver,
    });
  const head = row.error_message === null ? '' : 'The model refused the input: ';
  return new ApiError('invalid_input', { message: `${head}${why}. Nothing was charged.`, details });
}

function stillRunning(row: requests.CardRow, { links }: CallDeps): ApiError {
  return new ApiError('request_not_ready', {
    message: `The request ${row.id} is still running. Do not send it again: poll its status_url, then fetch its response_url.`,
    details: { request_id: row.id, status: row.status, ...requestUrls(row.id, links) },
  });
}
