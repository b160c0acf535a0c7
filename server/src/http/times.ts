/**
 * Bounds in time that callers meet, in milliseconds, and how much has to move in one. Tests run
 * with shorter ones.
 */
export interface Times {
  /** A whole request, body included. Idle bodies are cut sooner. */
  requestMs: number;
  /** Slow headers are an attack: real ones come at once. */
  headersMs: number;
  /** How often the two above are looked at. */
  connectionsCheckMs: number;
  /** A JSON body that has not come whole by then is cut off. */
  bodyMs: number;
  /** The same of a call of the web pages that anyone may make: nobody has signed in for it yet. */
  strangerBodyMs: number;
  /** How long the rest of a body that was refused may still come. */
  lingerMs: number;
  /** An upload of which fewer than `uploadLeastBytes` come in so long is cut off. */
  uploadWindowMs: number;
  uploadLeastBytes: number;
  /** Between two comments that keep an event stream alive. */
  keepAliveMs: number;
  /**
   * A reader of events that takes nothing for so long has left, and so has whoever takes fewer than
   * `stallLeastBytes` of a reply that waits.
   */
  stallMs: number;
  stallLeastBytes: number;
  /** How long a chat call waits for the first one under its Idempotency-Key. */
  repeatWaitMs: number;
  /** How often requests that are waited for are looked at, for hints that were lost. */
  lookMs: number;
  /** How often the keys and people behind open streams are checked: they end within 5 s. */
  viewersMs: number;
  /** How often streams of queued requests are told their place, where it has moved. */
  placesMs: number;
  /** A whole notification, the receiver's answer included. */
  webhookMs: number;
  /** From the start to the first proof of the books. */
  auditFirstMs: number;
  /** Between two probes of a storage that is well. */
  storageMs: number;
  /** Between two looks whether the database is a restored copy. */
  beatMs: number;
}

export const usualTimes: Times = {
  // The largest file over a slow line.
  requestMs: 600_000,
  headersMs: 15_000,
  connectionsCheckMs: 2_000,
  bodyMs: 30_000,
  strangerBodyMs: 5_000,
  lingerMs: 2_000,
  uploadWindowMs: 20_000,
  uploadLeastBytes: 8 * 1024,
  keepAliveMs: 15_000,
  stallMs: 60_000,
  stallLeastBytes: 16 * 1024,
  repeatWaitMs: 10_000,
  lookMs: 2_000,
  viewersMs: 4_000,
  placesMs: 1_000,
  webhookMs: 10_000,
  auditFirstMs: 20_000,
  storageMs: 5_000,
  beatMs: 10_000,
};
