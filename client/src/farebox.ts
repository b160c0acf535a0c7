import { createChat, type Chat } from './chat.ts';
import { download, type DownloadOptions } from './download.ts';
import { FareboxError, about, badArgument, checkNumber } from './error.ts';
import { createJob, resultOf, type Job, type Result, type StatusOptions } from './job.ts';
import { upload, withUploads, type Media, type Progress, type UploadOptions } from './media.ts';
import { formatUsd, withAmounts } from './money.ts';
import { environment, newKey } from './runtime.ts';
import { openScope } from './scope.ts';
import { Transport, checkCall, segments, type Call, type Retry, type Wanted } from './transport.ts';
import type {
  Balance,
  Estimate,
  Model,
  Output,
  QueuedRequest,
  RequestCard,
  RequestLine,
  Status,
  StatusName,
  UploadedFile,
} from './types.ts';
import { watch } from './watch.ts';

/** A model's input, as its `input_schema` says; media inside it are uploaded. An interface will do. */
export type Input = object;

export interface FareboxOptions {
  /** Else the environment's FAREBOX_API_KEY. */
  apiKey?: string | undefined;
  /** Ends in /v1. Else the environment's FAREBOX_BASE_URL, else http://localhost:8080/v1. */
  baseUrl?: string | undefined;
  fetch?: typeof fetch | undefined;
  timeoutMs?: number | undefined;
  maxRetries?: number | undefined;
  /** Sent with every call to the service. */
  headers?: Record<string, string> | undefined;
  /** Before each wait for another try, whatever the call. */
  onRetry?: ((retry: Retry) => void) | undefined;
}

export interface SubmitOptions extends Call {
  /** A random one unless given: it makes a repeat safe. */
  idempotencyKey?: string | undefined;
  /** A public address that gets one POST when the request is final. */
  webhookUrl?: string | undefined;
  /** Of all files of the input together; the total is null until each of them has begun. */
  onUpload?: ((progress: Progress) => void) | undefined;
}

export interface RunOptions extends SubmitOptions {
  /** Refuses before submitting when the price is above it. */
  maxUsdMicro?: bigint | undefined;
  /** With the id, before anything is waited for: keep it, and `attach` finds the request again. */
  onSubmit?: ((job: Job) => void) | undefined;
  onStatus?: ((status: Status) => void) | undefined;
}

export interface RequestFilter {
  status?: StatusName | undefined;
  model_id?: string | undefined;
  key_id?: string | undefined;
  from?: Date | string | undefined;
  to?: Date | string | undefined;
  /** Of one page: 1 to 100; 20 unless given. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface RequestPage {
  data: RequestLine[];
  next_cursor: string | null;
}

const usualBaseUrl = 'http://localhost:8080/v1';
const usualRetries = 3;
const waitMostSeconds = 60;
/** Stands for a file that is not uploaded while only its price is asked. */
const someFile = `file_${'0'.repeat(32)}`;

/** A prepaid gateway for text, image and video models: one key, one balance, prices known beforehand. */
export class Farebox {
  readonly baseUrl: string;
  readonly models: {
    list(options?: Call): Promise<Model[]>;
    get(modelId: string, options?: Call): Promise<Model>;
  };
  readonly requests: {
    list(filter?: RequestFilter, options?: Call): Promise<RequestPage>;
    /** Page after page, newest first. */
    all(filter?: RequestFilter, options?: Call): AsyncGenerator<RequestLine>;
    get(requestId: string, options?: Call): Promise<RequestCard>;
  };
  readonly chat: Chat;
  readonly #transport: Transport;

  constructor(options: FareboxOptions = {}) {
    this.baseUrl = addressOf(options.baseUrl ?? environment('FAREBOX_BASE_URL') ?? usualBaseUrl);
    const transport = new Transport({
      apiKey: keyOf(options.apiKey ?? environment('FAREBOX_API_KEY')),
      baseUrl: this.baseUrl,
      // Bound, or browsers refuse to call it.
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      timeoutMs: options.timeoutMs,
      maxRetries: options.maxRetries ?? usualRetries,
      headers: options.headers ?? {},
      onRetry: options.onRetry,
    });
    this.#transport = transport;
    this.chat = createChat(transport);
    this.models = {
      list: async (call) => (await transport.json<{ data: Model[] }>(get('/models'), call)).data,
      get: async (id, call) => transport.json(get(`/models/${segments(id, 'model id')}`), call),
    };
    const page = async (filter: RequestFilter = {}, call?: Call) =>
      withAmounts<RequestPage>(
        await transport.json({ ...get('/requests'), query: { ...filter } }, call),
      );
    this.requests = {
      list: page,
      async *all(filter, call) {
        for (let cursor = filter?.cursor; ;) {
          const { data, next_cursor } = await page({ ...filter, cursor }, call);
          yield* data;
          if (next_cursor === null) return;
          cursor = next_cursor;
        }
      },
      get: async (id, call) => withAmounts(await this.#ofRequest(id, '', call)),
    };
  }

  /** What the account can spend, and what the key may. */
  async balance(options?: Call): Promise<Balance> {
    return withAmounts(await this.#transport.json(get('/balance'), options));
  }

  /** What a submit of this input would reserve, and the most it is charged. Uploads nothing. */
  async estimate(modelId: string, input: Input, options?: Call): Promise<Estimate> {
    const priced = await withUploads(input, async () => someFile);
    const json = { model_id: modelId, input: priced };
    const wanted = { method: 'POST', path: '/estimate', json, repeatable: true } as const;
    return withAmounts(await this.#transport.json(wanted, options));
  }

  /** Uploads the input's media, reserves the price and queues the request. */
  async submit(modelId: string, input: Input, options: SubmitOptions = {}): Promise<Job> {
    checkCall(options);
    const path = `/queue/${segments(modelId, 'model id')}`;
    const wanted = {
      method: 'POST',
      path,
      query: { webhook_url: options.webhookUrl },
      json: await this.#uploaded(input, options),
      idempotencyKey: options.idempotencyKey ?? newKey(),
      repeatable: true,
    } as const;
    try {
      const submitted = withAmounts<QueuedRequest>(await this.#transport.json(wanted, options));
      return createJob(this, submitted.request_id, submitted);
    } catch (error) {
      if (wanted.json !== input && (error as FareboxError).code === 'idempotency_conflict')
        (error as FareboxError).message +=
          ' Each submit uploads the files of its input anew: upload() them once, and give the same file_id under the same key.';
      throw error;
    }
  }

  /** Submits, waits to the end, and hands out the output. Throws where there is none. */
  async run<T = Output>(
    modelId: string,
    input: Input,
    options: RunOptions = {},
  ): Promise<Result<T>> {
    const { maxUsdMicro, onSubmit, onStatus, signal, timeoutMs, ...rest } = options;
    checkCall(options);
    // What only looks like an amount would let any price pass.
    if (maxUsdMicro !== undefined && typeof maxUsdMicro !== 'bigint')
      throw badArgument("maxUsdMicro is a bigint: parseUsd('0.05').", 'maxUsdMicro');
    const late = `There is no result after ${(timeoutMs ?? 0) / 1000} s.`;
    const limit = openScope(signal, timeoutMs ?? Infinity, late);
    const call = { ...rest, signal: limit.signal };
    let requestId: string | undefined;
    try {
      if (maxUsdMicro !== undefined) {
        const { price_usd_micro } = await this.estimate(modelId, input, call);
        if (price_usd_micro > maxUsdMicro) {
          throw aboveLimit(price_usd_micro, maxUsdMicro, 'Nothing was submitted.');
        }
      }
      const job = await this.submit(modelId, input, call);
      requestId = job.requestId;
      onSubmit?.(job);
      if (maxUsdMicro !== undefined) await refuseDearer(job, maxUsdMicro);
      let last: Status | undefined;
      for await (const status of job.watch(call)) {
        last = status;
        onStatus?.(status);
      }
      return await resultOf<T>(this, last!, call, job.submitted);
    } catch (error) {
      if (requestId === undefined) throw error;
      if (error === limit.signal.reason)
        (error as Error).message += ` The request goes on: attach("${requestId}") follows it.`;
      throw about(error, requestId);
    } finally {
      limit.end();
    }
  }

  /** A request that was submitted before, by its id. Calls nobody. */
  attach(requestId: string): Job {
    segments(requestId, 'request id');
    return createJob(this, requestId);
  }

  /** With `waitSeconds`, up to 60, the service answers when the status has changed or is final. */
  async status(
    requestId: string,
    { waitSeconds = 0, until, ...call }: StatusOptions = {},
  ): Promise<Status> {
    checkNumber(waitSeconds, 'waitSeconds', 0);
    const wait = Math.min(waitMostSeconds, waitSeconds);
    const query = wait > 0 ? { wait, until } : {};
    return this.#ofRequest(requestId, '/status', call, { query, waitMs: wait * 1000 });
  }

  /** The status now and each change of it; over once it is final. */
  watch(requestId: string, options?: Call): AsyncGenerator<Status> {
    return watch(this.#transport, requestId, options);
  }

  /** The model's output. Before the request is COMPLETED: `request_not_ready`. */
  async response<T = Output>(requestId: string, options?: Call): Promise<T> {
    return this.#ofRequest(requestId, '/response', options);
  }

  /** Only while it is IN_QUEUE; of one that is cancelled already nothing is said. */
  async cancel(requestId: string, options?: Call): Promise<void> {
    try {
      await this.#ofRequest(requestId, '/cancel', options, { method: 'POST' });
    } catch (error) {
      const { code, details } = error as FareboxError;
      // Ours, most likely, whose reply was lost.
      if (code !== 'not_cancellable' || details.status !== 'CANCELLED') throw error;
    }
  }

  /** A text is a path. The id goes into any field of an input for 7 days. */
  upload(source: Media | string, options?: UploadOptions): Promise<UploadedFile> {
    return upload(this.#transport, source, options);
  }

  /** The bytes behind a link of an output; with `to` they go into that file. */
  download(url: string, options?: DownloadOptions): Promise<Blob> {
    return download(this.#transport, url, options);
  }

  async #ofRequest<T>(
    requestId: string,
    rest: string,
    call: Call | undefined,
    more: Partial<Wanted> = {},
  ): Promise<T> {
    const wanted = { ...get(`/requests/${segments(requestId, 'request id')}${rest}`), ...more };
    try {
      return await this.#transport.json(wanted, call);
    } catch (error) {
      throw about(error, requestId);
    }
  }

  async #uploaded(input: Input, { onUpload, signal }: SubmitOptions): Promise<Input> {
    const parts = new Map<Media, Progress>();
    const scope = openScope(signal, Infinity, '');
    const replaced = withUploads(input, async (source, count) => {
      const onProgress =
        onUpload &&
        ((progress: Progress) => {
          parts.set(source, progress);
          const { sent, total } = sum([...parts.values()]);
          onUpload({ sent, total: parts.size < count ? null : total });
        });
      const call = { signal: scope.signal, onProgress };
      return (await this.upload(source, call)).file_id;
    });
    // Where one fails, the others are of no use.
    replaced.catch(scope.abort);
    return replaced.finally(scope.end);
  }
}

function get(path: string): Wanted {
  return { method: 'GET', path, repeatable: true };
}

function sum(parts: Progress[]): Progress {
  return parts.reduce((a, b) => ({
    sent: a.sent + b.sent,
    total: a.total === null || b.total === null ? null : a.total + b.total,
  }));
}

/** The price can have changed since it was asked. */
async function refuseDearer(job: Job, limit: bigint): Promise<void> {
  const price = job.submitted!.quoted_usd_micro;
  if (price <= limit) return;
  const undone = await job.cancel().then(
    () => 'The request was cancelled, nothing is charged.',
    () => 'The request runs already; see requestId.',
  );
  throw aboveLimit(price, limit, undone);
}

function aboveLimit(price: bigint, limit: bigint, so: string): FareboxError {
  return new FareboxError(
    'price_above_limit',
    `It costs ${formatUsd(price)}, more than the ${formatUsd(limit)} allowed. ${so} Raise maxUsdMicro, or ask for less.`,
    { details: { price_usd_micro: price, max_usd_micro: limit } },
  );
}

function addressOf(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw badArgument(`baseUrl is no address: ${text}. It looks like ${usualBaseUrl}.`, 'baseUrl');
  }
  if (!/^https?:$/.test(url.protocol) || url.username || url.password)
    throw badArgument(
      `baseUrl is an http(s) address without a name in it, such as ${usualBaseUrl}.`,
      'baseUrl',
    );
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function keyOf(key: string | undefined): string | undefined {
  const trimmed = key?.trim();
  // A variable that is not set where this runs, mostly.
  if (trimmed === '')
    throw badArgument(
      'apiKey is empty: give a key, or leave it out to use FAREBOX_API_KEY.',
      'apiKey',
    );
  // In a header it would fail with the key in the error's text.
  if (trimmed && !/^[!-~]+$/.test(trimmed))
    throw badArgument('apiKey has characters that no key has.', 'apiKey');
  return trimmed;
}
