import { lagMaxSeconds } from '../core/standby.ts';
import { beatMs } from '../db/other-processes.ts';

/** Limits and intervals in milliseconds, and the bytes due within them. Tests use shorter times. */
export interface Times {
  /** Time limit of a whole request, body included. Idle bodies are cut off sooner. */
  requestMs: number;
  /** Time limit of the headers. Slow headers are an attack: real ones come at once. */
  headersMs: number;
  /** Time between two checks of `requestMs` and `headersMs`. */
  connectionsCheckMs: number;
  /** A JSON body or form that is not complete in this time is cut off. */
  bodyMs: number;
  /** The same as `bodyMs`, for calls of the web pages that need no sign-in. */
  strangerBodyMs: number;
  /** How long the rest of a refused body may still come. */
  lingerMs: number;
  /** An upload with fewer than `uploadLeastBytes` in this time is cut off. */
  uploadWindowMs: number;
  uploadLeastBytes: number;
  /** Time between two comments that keep an event stream alive. */
  keepAliveMs: number;
  /** A streamed chat call that has no reply by then gets its status, 200, and signs of life. */
  silenceMs: number;
  /**
   * A reader of an event stream that takes nothing for this long counts as gone, and so does a
   * client that takes fewer than `stallLeastBytes` of a waiting reply.
   */
  stallMs: number;
  stallLeastBytes: number;
  /** How long a repeated chat call waits for the first call with its Idempotency-Key. */
  repeatWaitMs: number;
  /** How long a call waits for its account's share of work that accounts do in turns. */
  shareWaitMs: number;
  /** A sum of usage that takes longer is refused. */
  usageSumMs: number;
  /** How often watched requests and accounts are checked, in case hints were lost. */
  checkMs: number;
  /**
   * How often the keys and people behind open streams are checked. A stream ends within 5 s after
   * its key or person loses access.
   */
  streamGrantsMs: number;
  /** How often streams of queued requests get their position, if it has changed. */
  positionsMs: number;
  /** Time limit of sending a webhook, the receiver's answer included. */
  webhookMs: number;
  /** Time from the start to the first audit of the books. */
  auditFirstMs: number;
  /** Time between two probes of a storage that works. */
  storageMs: number;
  /** Time between two checks whether the database is a restored copy. */
  beatMs: number;
  /** A standby that is further behind the primary answers no calls. */
  standbyLagMs: number;
  /** How long spans of traces are gathered before they are sent. */
  tracesMs: number;
}

export const usualTimes: Times = {
  // Enough for the largest file over a slow line.
  requestMs: 600_000,
  headersMs: 15_000,
  connectionsCheckMs: 2_000,
  bodyMs: 30_000,
  strangerBodyMs: 5_000,
  lingerMs: 2_000,
  uploadWindowMs: 20_000,
  uploadLeastBytes: 8 * 1024,
  keepAliveMs: 15_000,
  // The strictest proxies close a connection that is silent for 30 s.
  silenceMs: 20_000,
  stallMs: 60_000,
  stallLeastBytes: 16 * 1024,
  repeatWaitMs: 10_000,
  shareWaitMs: 10_000,
  usageSumMs: 10_000,
  checkMs: 2_000,
  streamGrantsMs: 4_000,
  positionsMs: 1_000,
  webhookMs: 10_000,
  auditFirstMs: 20_000,
  storageMs: 5_000,
  beatMs,
  standbyLagMs: lagMaxSeconds * 1000,
  tracesMs: 2_000,
};
