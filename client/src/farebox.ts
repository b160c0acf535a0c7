import { createChat, type Chat } from './chat.ts';
import { download, type DownloadOptions } from './download.ts';
import { FareboxError, about, badArgument, checkNumber, isCode } from './error.ts';
import {
  createJob,
  resultOf,
  type CancelOptions,
  type Job,
  type Result,
  type StatusOptions,
} from './job.ts';
import { upload, withUploads, type Media, type Progress, type UploadOptions } from './media.ts';
import { createKeys, type Keys } from './keys.ts';
import { formatUsd, withAmounts } from './money.ts';
import { environment, newKey } from './runtime.ts';
import { openScope } from './scope.ts';
import {
  Transport,
  checkCall,
  segments,
  type Call,
  type Retry,
  type CallRequest,
} from './transport.ts';
import type {
  Balance,
  Cancelled,
  DepositAddress,
  DepositList,
  Estimate,
  Model,
  Output,
  QueuedRequest,
  DeletedOutput,
  Refusal,
  RequestCard,
  RequestLine,
  Status,
  StatusName,
  UploadedFile,
  UsageLine,
} from './types.ts';
import { watch } from './watch.ts';

/**
 * A model's input, in the shape of its `input_schema`. Media inside it are uploaded. The type is
 * `object`, so that interfaces fit.
 */
export type Input = object;

export interface FareboxOptions {
  /** Default: FAREBOX_API_KEY of the environment. */
  apiKey?: string | undefined;
  /** Ends in /v1. Default: FAREBOX_BASE_URL of the environment, or http://localhost:8080/v1. */
  baseUrl?: string | undefined;
  fetch?: typeof fetch | undefined;
  timeoutMs?: number | undefined;
  maxRetries?: number | undefined;
  /** Sent with every call to the service. */
  headers?: Record<string, string> | undefined;
  /** Called before the wait for each retry of any call. */
  onRetry?: ((retry: Retry) => void) | undefined;
}

export interface SubmitOptions extends Call {
  /** Makes a retry safe. Default: a random one. */
  idempotencyKey?: string | undefined;
  /** A public address that gets one POST when the request is final. */
  webhookUrl?: string | undefined;
  /** At most 16 names with values of your own, shown with the request; lists can filter by them. */
  metadata?: Record<string, string> | undefined;
  /**
   * Progress of all files of the input together. The total is null until all uploads have begun.
   */
  onUpload?: ((progress: Progress) => void) | undefined;
}

export interface RunOptions extends SubmitOptions {
  /** Refuses before submitting if the price is above this. */
  maxUsdMicro?: bigint | undefined;
  /** Called before any waiting. Keep `job.requestId`: `attach` finds the request again. */
  onSubmit?: ((job: Job) => void) | undefined;
  onStatus?: ((status: Status) => void) | undefined;
}

export interface PageFilter {
  /** Entries of one page: 1 to 100; default 20. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface RequestFilter extends PageFilter {
  status?: StatusName | undefined;
  model_id?: string | undefined;
  key_id?: string | undefined;
  /** Only requests of this person, who was signed in. */
  person_id?: string | undefined;
  /** A number of the call that made it: the reply's `x-request-id`, or your own. */
  call_id?: string | undefined;
  from?: Date | string | undefined;
  to?: Date | string | undefined;
  /** Only requests with all these pairs. */
  metadata?: Record<string, string> | undefined;
}

export interface UsageFilter {
  /** Groups to add up by: `day`, `model`, `key`, `person` and `metadata.NAME`, with at most two names. */
  by: string | readonly string[];
  /** Days (UTC), such as 2027-01-31: `from` is included, `to` is not. */
  from?: string | undefined;
  to?: string | undefined;
  model_id?: string | undefined;
  key_id?: string | undefined;
  /** Only requests with all these pairs. */
  metadata?: Record<string, string> | undefined;
  /** Lines of one page: 1 to 1000; default 100. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface UsagePage {
  data: UsageLine[];
  next_cursor: string | null;
}

export interface RefusalFilter extends PageFilter {
  /** The `error.code` of the reply. */
  code?: string | undefined;
  model_id?: string | undefined;
  key_id?: string | undefined;
  from?: Date | string | undefined;
  to?: Date | string | undefined;
}

export interface RefusalPage {
  data: Refusal[];
  next_cursor: string | null;
}

export interface RequestPage {
  data: RequestLine[];
  next_cursor: string | null;
}

const usualBaseUrl = 'http://localhost:8080/v1';
const usualRetries = 3;
const waitMostSeconds = 60;
/** The id that stands for every file in an estimate, which uploads nothing. */
const someFile = `file_${'0'.repeat(32)}`;

/**
 * The client of a prepaid gateway for text, image and video models: one key, one balance, prices
 * known beforehand.
 */
export class Farebox {
  readonly baseUrl: string;
  readonly models: {
    list(options?: Call): Promise<Model[]>;
    get(modelId: string, options?: Call): Promise<Model>;
  };
  readonly requests: {
    list(filter?: RequestFilter, options?: Call): Promise<RequestPage>;
    /** All requests, newest first; fetches page after page. */
    all(filter?: RequestFilter, options?: Call): AsyncGenerator<RequestLine>;
    get(requestId: string, options?: Call): Promise<RequestCard>;
    /** Deletes what a request has made; its card stays. To delete twice is not an error. */
    deleteOutput(requestId: string, options?: Call): Promise<DeletedOutput>;
    /** Calls of the last seven days that were refused, newest first. */
    refused(filter?: RefusalFilter, options?: Call): Promise<RefusalPage>;
  };
  readonly deposits: {
    /** Where to send USDT; empty if the service reads no chain. */
    addresses(options?: Call): Promise<DepositAddress[]>;
    /** One page, newest first; deposits whose block is not final come before the others. */
    list(filter?: PageFilter, options?: Call): Promise<DepositList>;
  };
  readonly chat: Chat;
  /** Needs a key of scope `keys`, which can do nothing else. */
  readonly keys: Keys;
  readonly #transport: Transport;

  constructor(options: FareboxOptions = {}) {
    this.baseUrl = addressOf(options.baseUrl ?? environment('FAREBOX_BASE_URL') ?? usualBaseUrl);
    const transport = new Transport({
      apiKey: keyOf(options.apiKey ?? environment('FAREBOX_API_KEY')),
      baseUrl: this.baseUrl,
      // Bound, because browsers refuse to call an unbound fetch.
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      timeoutMs: options.timeoutMs,
      maxRetries: options.maxRetries ?? usualRetries,
      headers: options.headers ?? {},
      onRetry: options.onRetry,
    });
    this.#transport = transport;
    this.chat = createChat(transport);
    this.keys = createKeys(transport);
    this.models = {
      list: async (call) => (await transport.json<{ data: Model[] }>(get('/models'), call)).data,
      get: async (id, call) => transport.json(get(`/models/${segments(id, 'model id')}`), call),
    };
    const lists =
      <T>(path: string) =>
      async (filter: RequestFilter & RefusalFilter = {}, call?: Call) =>
        withAmounts<T>(await transport.json({ ...get(path), query: queryOf(filter) }, call));
    const page = lists<RequestPage>('/requests');
    this.deposits = {
      addresses: async (call) =>
        (await lists<{ data: DepositAddress[] }>('/deposit-addresses')({}, call)).data,
      list: lists('/deposits'),
    };
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
      deleteOutput: (id, call) => this.#ofRequest(id, '/output', call, { method: 'DELETE' }),
      refused: lists('/refusals'),
    };
  }

  /** Returns what the account and the key can spend. */
  async balance(options?: Call): Promise<Balance> {
    return withAmounts(await this.#transport.json(get('/balance'), options));
  }

  /**
   * Adds up requests, charges and tokens of the account. Returns one page, sorted by the values of
   * `by`.
   */
  async usage({ by, ...filter }: UsageFilter, options?: Call): Promise<UsagePage> {
    const query = { by: String(by), ...queryOf(filter) };
    return withAmounts(await this.#transport.json({ ...get('/usage'), query }, options));
  }

  /**
   * Returns the amount that a submit of this input would reserve, which is the most it can be
   * charged. Uploads nothing.
   */
  async estimate(modelId: string, input: Input, options?: Call): Promise<Estimate> {
    const priced = await withUploads(input, async () => someFile);
    const json = { model_id: modelId, input: priced };
    const wanted = { method: 'POST', path: '/estimate', json, repeatable: true } as const;
    return withAmounts(await this.#transport.json(wanted, options));
  }

  /** Uploads the input's media, reserves the price, queues the request and returns its job. */
  async submit(modelId: string, input: Input, options: SubmitOptions = {}): Promise<Job> {
    checkCall(options);
    const path = `/queue/${segments(modelId, 'model id')}`;
    const wanted = {
      method: 'POST',
      path,
      query: { webhook_url: options.webhookUrl },
      ...(options.metadata && { headers: { 'x-metadata': asciiJson(options.metadata) } }),
      json: await this.#uploaded(input, options),
      idempotencyKey: options.idempotencyKey ?? newKey(),
      repeatable: true,
    } as const;
    try {
      const submitted = withAmounts<QueuedRequest>(await this.#transport.json(wanted, options));
      return createJob(this, submitted.request_id, submitted);
    } catch (error) {
      if (wanted.json !== input && isCode(error, 'idempotency_conflict'))
        error.message +=
          ' Each submit uploads its files again: upload() them once, and send the same file_id.';
      throw error;
    }
  }

  /**
   * Submits, waits for the end and returns the output. Throws if the request fails, is cancelled,
   * or costs more than `maxUsdMicro`.
   */
  async run<T = Output>(
    modelId: string,
    input: Input,
    options: RunOptions = {},
  ): Promise<Result<T>> {
    const { maxUsdMicro, onSubmit, onStatus, signal, timeoutMs, ...rest } = options;
    checkCall(options);
    // Below, no price would count as greater than NaN or a string such as '0.05'.
    if (maxUsdMicro !== undefined && typeof maxUsdMicro !== 'bigint')
      throw badArgument("maxUsdMicro must be a bigint, such as parseUsd('0.05').", 'maxUsdMicro');
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
      if (error === limit.signal.reason && error instanceof FareboxError)
        error.message += ` The request goes on: attach("${requestId}") follows it.`;
      throw about(error, requestId);
    } finally {
      limit.end();
    }
  }

  /** Returns the job of an earlier request, by its id. Makes no call. */
  attach(requestId: string): Job {
    segments(requestId, 'request id');
    return createJob(this, requestId);
  }

  /**
   * Returns the current status. With `waitSeconds`, at most 60, the service waits up to that long
   * for a change.
   */
  async status(
    requestId: string,
    { waitSeconds = 0, until, ...call }: StatusOptions = {},
  ): Promise<Status> {
    checkNumber(waitSeconds, 'waitSeconds', 0);
    const wait = Math.min(waitMostSeconds, waitSeconds);
    const query = wait > 0 ? { wait, until } : {};
    return this.#ofRequest(requestId, '/status', call, { query, waitMs: wait * 1000 });
  }

  /** Yields the current status, then each change; ends with the final status. */
  watch(requestId: string, options?: Call): AsyncGenerator<Status> {
    return watch(this.#transport, requestId, options);
  }

  /** Returns the model's output. Throws `request_not_ready` until the request is COMPLETED. */
  async response<T = Output>(requestId: string, options?: Call): Promise<T> {
    return this.#ofRequest(requestId, '/response', options);
  }

  /**
   * Cancels a request that is IN_QUEUE, or with `running` asks a running job to stop: `IN_PROGRESS`
   * in the reply means that it was asked. Throws `not_cancellable` otherwise. To cancel twice is not
   * an error.
   */
  async cancel(requestId: string, { running, ...options }: CancelOptions = {}): Promise<Cancelled> {
    const query = running ? { running: 'true' } : {};
    try {
      return await this.#ofRequest(requestId, '/cancel', options, { method: 'POST', query });
    } catch (error) {
      // Most likely cancelled by our own earlier attempt, whose reply was lost.
      const isCancelled = isCode(error, 'not_cancellable') && error.details.status === 'CANCELLED';
      if (!isCancelled) throw error;
      return { request_id: requestId, status: 'CANCELLED' };
    }
  }

  /**
   * Uploads a file (a string is a path). Its id works in any field of an input
   * until `expires_at`, by default for 7 days.
   */
  upload(source: Media | string, options?: UploadOptions): Promise<UploadedFile> {
    return upload(this.#transport, source, options);
  }

  /**
   * Returns the bytes behind a link of an output; with `to` they are written to that file. Throws
   * unless all bytes have arrived.
   */
  download(url: string, options?: DownloadOptions): Promise<Blob> {
    return download(this.#transport, url, options);
  }

  async #ofRequest<T>(
    requestId: string,
    rest: string,
    call: Call | undefined,
    more: Partial<CallRequest> = {},
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
    // After one failure, the other uploads are useless.
    replaced.catch(scope.abort);
    return replaced.finally(scope.end);
  }
}

function queryOf<Filter extends { metadata?: Record<string, string> | undefined }>({
  metadata = {},
  ...filter
}: Filter) {
  const pairs = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]);
  return { ...filter, ...Object.fromEntries(pairs) };
}

function get(path: string): CallRequest {
  return { method: 'GET', path, repeatable: true };
}

function sum(parts: Progress[]): Progress {
  return parts.reduce((a, b) => ({
    sent: a.sent + b.sent,
    total: a.total === null || b.total === null ? null : a.total + b.total,
  }));
}

/** Cancels the job and throws `price_above_limit` if its price has risen above the limit. */
async function refuseDearer(job: Job, limit: bigint): Promise<void> {
  const price = job.submitted!.quoted_usd_micro;
  if (price <= limit) return;
  const undone = await job.cancel().then(
    () => 'The request was cancelled, nothing is charged.',
    () => 'The request is already running; see requestId.',
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
    throw badArgument(
      `baseUrl is not an address: ${text}. It looks like ${usualBaseUrl}.`,
      'baseUrl',
    );
  }
  if (!/^https?:$/.test(url.protocol) || url.username || url.password)
    throw badArgument(
      `baseUrl must be an http(s) address without user and password, such as ${usualBaseUrl}.`,
      'baseUrl',
    );
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function keyOf(key: string | undefined): string | undefined {
  const trimmed = key?.trim();
  // Usually an environment variable that is not set.
  if (trimmed === '')
    throw badArgument(
      'apiKey is empty: give a key, or leave it out to use FAREBOX_API_KEY.',
      'apiKey',
    );
  // Sent as a header, it would cause an error whose message contains the key.
  if (trimmed && !/^[!-~]+$/.test(trimmed))
    throw badArgument('apiKey has characters that are not allowed.', 'apiKey');
  return trimmed;
}

/** JSON as a header can have it: characters beyond ASCII are escaped. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^ -~]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
