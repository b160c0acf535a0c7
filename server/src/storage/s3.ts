import { mkdtemp, open, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3mini, S3ServiceError, type UploadPart } from 's3mini';
import { runBounded } from '../lib/bounded.ts';
import { idleTimeout, type Bytes } from '../lib/streams.ts';
import { asStorageError, intake, writeBody, type PutOptions } from './intake.ts';
import { assertKey, assertRange } from './key.ts';
import { StorageFull, type Storage, type StoredObject, type StoreLink } from './storage.ts';
import { sweepTemp } from './temp.ts';

export interface S3Options {
  /**
   * Includes the bucket: `https://host/bucket`, or `https://bucket.host/` if the service requires
   * it.
   */
  endpoint: string;
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
  /** Prepended to every key, such as `farebox/`, so that other programs can share the bucket. */
  prefix?: string;
  /** Gives `linkTo` addresses, for callers who can reach `endpoint`. */
  isDirect?: boolean;
  /** Folder on this machine for `openAsPath`. */
  tempFolder: string;
  /**
   * A body is sent in parts of this size, with two in memory at a time. S3 requires at least 5 MiB.
   */
  partBytes?: number;
  /**
   * Time limit of one call. When reading an object: until the first byte, then between two bytes.
   */
  callMs?: number;
  /** Wait before the first retry; doubles each time. */
  retryMs?: number;
}

const tempPrefix = 'farebox-s3-';
const staleTempMs = 24 * 60 * 60 * 1000;
const attempts = 3;
const removalsAtOnce = 8;
/** Seconds that a signature of S3 may be valid. */
const longestLink = 7 * 24 * 3600;
/** Error codes of services that are full. */
const fullCodes = new Set([
  'XMinioStorageFull',
  'QuotaExceeded',
  'InsufficientStorage',
  'InsufficientCapacity',
]);

/**
 * Stores objects in an S3-compatible bucket. S3 shows an object only when its upload is complete. A
 * crash during an upload leaves invisible parts, so a lifecycle rule of the bucket should abort
 * incomplete uploads after a day.
 */
export class S3Storage implements Storage {
  readonly #options: Required<S3Options>;

  constructor(options: S3Options) {
    this.#options = {
      ...options,
      prefix: options.prefix ?? '',
      isDirect: options.isDirect ?? false,
      partBytes: options.partBytes ?? 8 * 1024 * 1024,
      callMs: options.callMs ?? 120_000,
      retryMs: options.retryMs ?? 200,
    };
    sweepTemp(this.#options.tempFolder, tempPrefix, staleTempMs);
  }

  async put(key: string, body: Bytes, options: PutOptions = {}): Promise<StoredObject> {
    const name = this.#nameOf(key);
    const { stream, result: stored } = intake(body, this.#options.partBytes, options);
    let last: Uint8Array = Buffer.alloc(0);
    let upload: Multipart | null = null;
    try {
      for await (const piece of stream) {
        // Only the last piece is short, so a short first piece is the whole body and is sent in one
        // call.
        if (!upload && piece.length < this.#options.partBytes) {
          last = piece;
          continue;
        }
        upload ??= await this.#begin(name, options.signal);
        await upload.add(piece);
      }
      if (upload) await upload.complete();
      else await this.#call((client) => client.putObject(name, last), options.signal);
      return stored();
    } catch (error) {
      await upload?.abandon();
      throw asFull(error);
    }
  }

  async open(key: string, range?: { start: number; end: number }): Promise<Bytes | null> {
    const name = this.#nameOf(key);
    if (range) assertRange(range);
    const cut = new AbortController();
    const timer = setTimeout(
      () => cut.abort(new Error('the store did not answer')),
      this.#options.callMs,
    );
    try {
      const client = this.#client(cut.signal);
      const reply = range
        ? await client.getObjectRaw(name, false, range.start, range.end + 1)
        : await client.getObjectRaw(name);
      if (range && reply.status !== 206) {
        cut.abort();
        throw new Error(`the store answered a range with ${reply.status}`);
      }
      const bytes = reply.body ?? new Blob([]).stream();
      return idleTimeout(bytes, this.#options.callMs, () => cut.abort());
    } catch (error) {
      if (isMissing(error)) return null;
      throw asRefusal(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async openAsPath(key: string): Promise<{ path: string; done(): Promise<void> } | null> {
    const body = await this.open(key);
    if (!body) return null;
    const folder = await mkdtemp(join(this.#options.tempFolder, tempPrefix));
    const done = (): Promise<void> => rm(folder, { recursive: true, force: true });
    try {
      const path = join(folder, basename(key));
      const handle = await open(path, 'wx', 0o600);
      try {
        await writeBody(handle, body);
      } finally {
        await handle.close();
      }
      return { path, done };
    } catch (error) {
      await done();
      throw asStorageError(error);
    }
  }

  async remove(key: string): Promise<void> {
    const name = this.#nameOf(key);
    await this.#call((client) => client.deleteObject(name).catch(unlessMissing));
  }

  /** Deletes objects one by one, because services differ in how they delete many in one call. */
  async removeAll(prefix: string): Promise<void> {
    for await (const page of this.list(prefix)) {
      const names = page.map(({ key }) => this.#options.prefix + key).values();
      const removeRest = async (): Promise<void> => {
        for (const name of names) {
          await this.#call((client) => client.deleteObject(name).catch(unlessMissing));
        }
      };
      await Promise.all(Array.from({ length: removalsAtOnce }, removeRest));
    }
  }

  async *list(prefix: string) {
    const below = `${this.#nameOf(prefix)}/`;
    let token: string | undefined;
    do {
      const page = await this.#call((client) => client.listObjectsPaged('/', below, 1000, token));
      // s3mini takes a missing bucket for an empty one.
      if (!page) throw new Error('S3 answered 404 NoSuchBucket: the bucket does not exist');
      yield (page.objects ?? []).map(({ Key, Size: size, LastModified: at }) => ({
        key: Key.slice(this.#options.prefix.length),
        size,
        // A store that does not say when gives 1970, which would count as old.
        stored_at: at.getTime() > 0 ? at : new Date(),
      }));
      token = page.nextContinuationToken;
    } while (token);
  }

  async linkTo(key: string, { seconds, ...shown }: StoreLink): Promise<string | null> {
    const name = this.#nameOf(key);
    if (!this.#options.isDirect) return null;
    const { signal } = new AbortController();
    return this.#client(signal).getPresignedUrl('GET', name, Math.min(seconds, longestLink), {
      'response-cache-control': 'private, no-store',
      'response-content-disposition': shown.disposition,
      'response-content-type': shown.content_type,
    });
  }

  /**
   * Asks for an object that does not exist, because a list would look the same for a missing bucket
   * and an empty one.
   */
  async checkReachable(signal?: AbortSignal): Promise<void> {
    const name = this.#nameOf('farebox/none');
    const read = (client: S3mini) => client.getObjectRaw(name).catch(unlessMissing);
    const reply = await this.#call(read, signal);
    await reply?.body?.cancel();
  }

  async freeBytes(): Promise<null> {
    return null;
  }

  #nameOf(key: string): string {
    assertKey(key);
    return this.#options.prefix + key;
  }

  /** s3mini does not take signals, so each call gets a client whose `fetch` obeys `signal`. */
  #client(signal: AbortSignal): S3mini {
    const { endpoint, accessKeyId, secretAccessKey, region } = this.#options;
    const obedient: typeof fetch = (input, init) => fetch(input, { ...init, signal });
    return new S3mini({ endpoint, accessKeyId, secretAccessKey, region, fetch: obedient });
  }

  /**
   * Retries after temporary failures. Only for calls that may be made twice with the same effect.
   */
  async #call<T>(work: (client: S3mini) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await runBounded(signal, this.#options.callMs, (limit) => work(this.#client(limit)));
      } catch (error) {
        signal?.throwIfAborted();
        if (attempt === attempts || !isPassing(error)) throw asRefusal(error);
        const wait = sleep(this.#options.retryMs * 2 ** (attempt - 1), undefined, { signal });
        await wait.catch(() => signal?.throwIfAborted());
      }
    }
  }

  async #begin(name: string, signal?: AbortSignal): Promise<Multipart> {
    const id = await this.#call((client) => client.getMultipartUploadId(name), signal);
    return new Multipart(name, id, signal, (work, over) => this.#call(work, over));
  }
}

type Call = <T>(work: (client: S3mini) => Promise<T>, signal?: AbortSignal) => Promise<T>;

/**
 * An upload in parts. We do this ourselves, because s3mini's own upload leaves parts in flight and
 * their rejections unhandled if the body fails. One part is sent while the next is being read.
 */
class Multipart {
  readonly #name: string;
  readonly #id: string;
  readonly #call: Call;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #parts: UploadPart[] = [];
  #sending: Promise<void> = Promise.resolve();

  constructor(name: string, id: string, signal: AbortSignal | undefined, call: Call) {
    this.#name = name;
    this.#id = id;
    this.#call = call;
    this.#signal = signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal;
  }

  async add(piece: Uint8Array): Promise<void> {
    await this.#sending;
    const number = this.#parts.length + 1;
    this.#sending = this.#send(piece, number);
    // The next call checks this result; until then its rejection must not count as unhandled.
    this.#sending.catch(() => {});
  }

  async complete(): Promise<void> {
    await this.#sending;
    // S3 may fail after it has answered 200; the body then contains the error.
    const result = await this.#call(async (client) => {
      return await client.completeMultipartUpload(this.#name, this.#id, this.#parts);
    }, this.#signal);
    if (!result.etag) throw new Error('the store did not complete the upload');
  }

  /**
   * Aborts the upload, best effort. Waits for the part that is being sent, which would otherwise
   * remain in the bucket.
   */
  async abandon(): Promise<void> {
    this.#stop.abort();
    await this.#sending.catch(() => {});
    const abort = this.#call((client) => client.abortMultipartUpload(this.#name, this.#id));
    await abort.catch(() => {});
  }

  async #send(piece: Uint8Array, number: number): Promise<void> {
    const part = await this.#call(
      (client) => client.uploadPart(this.#name, this.#id, piece, number),
      this.#signal,
    );
    if (!part.etag) throw new Error('the store gave no ETag for a part');
    this.#parts.push(part);
  }
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof S3ServiceError) || error.status !== 404) return false;
  return error.serviceCode !== 'NoSuchBucket';
}

function unlessMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

function isPassing(error: unknown): boolean {
  if (error instanceof S3ServiceError) return error.status >= 500 || error.status === 429;
  // If the connection failed, `fetch` throws a `TypeError`, and s3mini an `S3NetworkError`.
  return error instanceof TypeError || (error instanceof Error && error.name === 'S3NetworkError');
}

function asFull(error: unknown): unknown {
  if (!(error instanceof S3Refusal)) return error;
  const full = error.status === 507 || fullCodes.has(error.serviceCode);
  return full ? new StorageFull({ cause: error }) : error;
}

/** A reply that refuses, in one line with the words of the store. */
class S3Refusal extends Error {
  readonly status: number;
  readonly serviceCode: string;

  constructor({ status, serviceCode = 'without a code', body = '' }: S3ServiceError) {
    const [, says = ''] = /<Message>([^<]{1,200})/.exec(body) ?? [];
    super(`S3 answered ${status} ${serviceCode}${says && `: ${says.replaceAll(/\s+/g, ' ')}`}`);
    this.name = 'S3Refusal';
    this.status = status;
    this.serviceCode = serviceCode;
  }
}

/** Without the reply's body, which repeats the signed call and would fill the log. */
function asRefusal(error: unknown): unknown {
  return error instanceof S3ServiceError ? new S3Refusal(error) : error;
}
