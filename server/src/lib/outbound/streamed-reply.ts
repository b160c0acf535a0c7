/** The reply of an outbound call, handed over as it comes in. */
import { Exchange, type Controller, type Limits, type ReplyHeaders } from './exchange.ts';
import type { FetchError } from './fetch-error.ts';

export interface StreamReply {
  status: number;
  headers: ReplyHeaders;
  /**
   * Can be read once. Throws a `FetchError` after the bytes that came before the error; an abort by
   * the signal drops these bytes.
   */
  body: AsyncIterable<Uint8Array>;
  /**
   * Ends the call at once, if the body is not wanted. Leaving a `for await` over the body has the
   * same effect.
   */
  close(): void;
}

/** Bytes waiting for the reader: the sender pauses at the maximum and resumes at the low mark. */
const waitingBytesMax = 256 * 1024;
const waitingBytesLow = 64 * 1024;

interface Reader {
  resolve: (result: IteratorResult<Uint8Array>) => void;
  reject: (error: FetchError) => void;
}

const done: IteratorResult<Uint8Array> = { done: true, value: undefined };

/** Hands the reply over as it comes in, and slows the sender down to the pace of the reader. */
export class StreamedReply extends Exchange implements AsyncIterableIterator<Uint8Array> {
  private start: {
    resolve: (reply: StreamReply) => void;
    reject: (error: FetchError) => void;
  } | null;
  private waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  private reader: Reader | null = null;
  private error: FetchError | null = null;

  constructor(
    host: string,
    limits: Limits,
    resolve: (reply: StreamReply) => void,
    reject: (error: FetchError) => void,
  ) {
    super(host, limits);
    this.start = { resolve, reject };
  }

  override handleEvent(): void {
    // The caller has gone, so the waiting bytes are dropped.
    this.waiting = [];
    super.handleEvent();
  }

  protected override onBegin(): void {
    this.idle?.refresh();
    const { maxBytes } = this.limits;
    if (Number(this.headers['content-length']) > maxBytes) {
      this.stop('too_large', `more than ${maxBytes} bytes`);
      return;
    }
    const { status, headers, start } = this;
    this.start = null;
    start?.resolve({ status: status ?? 0, headers, body: this, close: () => void this.return() });
  }

  onResponseData(controller: Controller, chunk: Uint8Array): void {
    if (this.over) return;
    this.idle?.refresh();
    this.received += chunk.length;
    if (this.received > this.limits.maxBytes) {
      this.stop('too_large', `more than ${this.limits.maxBytes} bytes`);
    } else if (this.reader !== null) {
      this.answer({ done: false, value: chunk });
    } else {
      this.waiting.push(chunk);
      this.waitingBytes += chunk.length;
      if (this.waitingBytes >= waitingBytesMax) controller.pause();
    }
  }

  onResponseEnd(): void {
    if (this.finish()) this.answer(done);
  }

  protected fail(error: FetchError): void {
    if (this.start !== null) {
      this.start.reject(error);
      this.start = null;
    } else if (this.reader !== null) {
      this.reader.reject(error);
      this.reader = null;
    } else {
      this.error = error;
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const chunk = this.waiting.shift();
    if (chunk !== undefined) return Promise.resolve(this.take(chunk));
    if (this.error !== null) {
      const { error } = this;
      this.error = null;
      return Promise.reject(error);
    }
    if (this.over) return Promise.resolve(done);
    return new Promise((resolve, reject) => {
      this.reader = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.waiting = [];
    this.error = null;
    if (this.finish()) {
      this.answer(done);
      this.controller?.abort(new Error('no longer wanted'));
    }
    return Promise.resolve(done);
  }

  private take(chunk: Uint8Array): IteratorResult<Uint8Array> {
    this.waitingBytes -= chunk.length;
    if (!this.over) {
      this.idle?.refresh();
      if (this.waitingBytes <= waitingBytesLow) this.controller?.resume();
    }
    return { done: false, value: chunk };
  }

  private answer(result: IteratorResult<Uint8Array>): void {
    this.reader?.resolve(result);
    this.reader = null;
  }
}
