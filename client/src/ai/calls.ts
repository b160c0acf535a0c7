import { APICallError, NoSuchModelError, type JSONObject } from '@ai-sdk/provider';
import { FareboxError } from '../error.ts';
import type { Farebox, Input } from '../farebox.ts';
import type { Job } from '../job.ts';
import { withUploads } from '../media.ts';
import type { MediaFile, Model, RequestCard } from '../types.ts';
import { mediaIn } from '../outputs.ts';

/** Shared by images and videos: submit one request, wait for it, and take its files. */

export interface CallOptions {
  abortSignal?: AbortSignal;
  headers?: Record<string, string | undefined>;
}

export interface MadeFiles {
  files: { media: MediaFile; bytes: Uint8Array<ArrayBuffer> }[];
  metadata: JSONObject;
}

/** The caller's own idempotency key, whatever the header's letter case. */
export function idempotencyKeyOf(headers: CallOptions['headers']): string | undefined {
  const name = Object.keys(headers ?? {}).find((each) => each.toLowerCase() === 'idempotency-key');
  return name === undefined ? undefined : headers![name];
}

/**
 * Returns a function that fetches the model from the catalog, and throws if it makes something else
 * than `kind`. The result is cached, a failure is not.
 */
export function rowOf(client: () => Farebox, modelId: string, kind: 'image' | 'video') {
  let row: Promise<Model> | undefined;
  return (options: CallOptions): Promise<Model> => {
    row ??= inWords(client(), options, async () => {
      const model = await client().models.get(modelId, { signal: options.abortSignal });
      if (model.kind === kind) return model;
      throw new NoSuchModelError({
        modelId,
        modelType: `${kind}Model`,
        message: `${modelId} makes ${model.kind === 'text' ? 'text' : `a ${model.kind}`}: use ${usesOf[model.kind]}.`,
      });
    });
    row.catch(() => (row = undefined));
    return row;
  };
}

const usesOf = {
  text: "farebox('id')",
  image: "farebox.image('id')",
  video: "farebox.video('id')",
};

/**
 * Uploads the files and submits the request. The caller's signal stops the uploads but not the
 * submit: without its reply, the request's id is unknown and the request cannot be cancelled.
 */
export function submit(
  client: Farebox,
  modelId: string,
  input: Input,
  { abortSignal: signal, headers, webhookUrl }: CallOptions & { webhookUrl?: string },
): Promise<Job> {
  return inWords(client, { abortSignal: signal }, async () => {
    const sent = await withUploads(
      input,
      async (media) => (await client.upload(media, { signal })).file_id,
    );
    signal?.throwIfAborted();
    const job = await client.submit(modelId, sent, {
      idempotencyKey: idempotencyKeyOf(headers),
      webhookUrl,
    });
    if (signal?.aborted) await job.cancel().catch(() => {});
    signal?.throwIfAborted();
    return job;
  });
}

/**
 * Waits for the end. If the caller stops waiting while the request is queued, the request is
 * cancelled and costs nothing.
 */
export function resultOf(client: Farebox, job: Job, options: CallOptions): Promise<MadeFiles> {
  const signal = options.abortSignal;
  return inWords(client, options, async () => {
    try {
      return await madeOf(client, job.requestId, await job.result({ signal }), signal);
    } catch (error) {
      if (signal?.aborted) await job.cancel().catch(() => {});
      throw error;
    }
  });
}

async function madeOf(
  client: Farebox,
  request_id: string,
  { output, card }: { output: unknown; card: RequestCard },
  signal: AbortSignal | undefined,
): Promise<MadeFiles> {
  const files = await Promise.all(
    mediaIn(output).map(async (media) => {
      const blob = await client.download(media.url, { signal });
      return { media, bytes: new Uint8Array(await blob.arrayBuffer()) };
    }),
  );
  return { files, metadata: { request_id, ...costOf(card) } };
}

function costOf({ quoted_usd_micro, charged_usd_micro }: RequestCard): JSONObject {
  return {
    quoted_usd_micro: String(quoted_usd_micro),
    charged_usd_micro: String(charged_usd_micro ?? 0n),
  };
}

/**
 * Turns errors into the SDK's error types. All are marked as not retryable: the client has already
 * retried where that was safe, and a retry by the SDK would be a new request.
 */
export async function inWords<T>(
  client: Farebox,
  { abortSignal }: CallOptions,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (abortSignal?.aborted) throw abortSignal.reason;
    if (!(error instanceof FareboxError)) throw error;
    const { message, status, code, type, param } = error;
    throw new APICallError({
      message,
      url: client.baseUrl,
      requestBodyValues: {},
      statusCode: status ?? undefined,
      isRetryable: false,
      data: { error: { message, type, param, code } },
      cause: error,
    });
  }
}
