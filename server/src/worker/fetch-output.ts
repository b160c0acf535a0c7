import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { decodeFile } from '../lib/outbound/decode.ts';
import { FetchError, type Reply } from '../lib/outbound/fetch.ts';
import { followRedirects } from '../lib/outbound/redirects.ts';
import { fieldOf } from '../lib/unknown.ts';
import type { StepDeps } from './step.ts';

/** Fetches outputs from the addresses that an upstream gave. */

/**
 * Time for tries to fetch an output. It is shorter if the address answers that nothing is there.
 */
const triedSeconds = 600;
const goneSeconds = 120;
/** The least time for a try, so that the last one may succeed. */
const trySeconds = 10;
const goneStatuses = new Set([403, 404, 410]);
/** Proxies that changed a reply on its way answer 203, stores that have just made it 201. */
const statuses = new Set([200, 201, 203]);
const idleTimeoutMs = 30_000;

/** An output could not be fetched this time. */
export class OutputNotFetched extends Error {
  /** How long this try took. */
  readonly seconds: number;
  readonly #saysGone: boolean;

  constructor(message: string, begunMs: number, { cause, isGone = false }: NotFetchedFacts = {}) {
    super(message, { cause });
    this.name = 'OutputNotFetched';
    this.seconds = (performance.now() - begunMs) / 1000;
    this.#saysGone = isGone;
  }

  /** Whether the time for tries is over, if the first one began `sinceSeconds` ago. */
  isLast(sinceSeconds: number | null): boolean {
    return this.#saysGone ? this.isGone(sinceSeconds) : this.#since(sinceSeconds) >= triedSeconds;
  }

  /** Whether an output that is not there would be given up. */
  isGone(sinceSeconds: number | null): boolean {
    return this.#since(sinceSeconds) >= goneSeconds;
  }

  #since(sinceSeconds: number | null): number {
    return sinceSeconds ?? this.seconds;
  }
}

interface NotFetchedFacts {
  cause?: unknown;
  isGone?: boolean;
}

/**
 * The bytes at an output's address. `headers`, which may contain our key, go to the address's own
 * origin only. It and reading throw `OutputNotFetched` for what another try may mend, and the
 * `FetchError` for an address that must not be fetched or has too many bytes.
 */
export async function fetchOutput(
  row: ClaimedRequest,
  { url, headers }: { url: string; headers?: Record<string, string> },
  deps: StepDeps,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const upstream = deps.upstreams.get(row.started_upstream ?? row.upstream);
  const maxBytes = deps.settings.FAREBOX_OUTPUT_MAX_BYTES;
  const begunMs = performance.now();
  const left = Math.max(trySeconds, triedSeconds - (row.unfetched_seconds ?? 0));
  const tried = (error: unknown): unknown => notFetched(error, begunMs, signal) ?? error;
  const get = (at: string, isHome: boolean) => {
    const isOwn = URL.canParse(at) && new URL(at).origin === upstream?.origin;
    return (isOwn ? deps.trusted : deps.guarded).stream({
      url: at,
      ...(headers && isHome && { headers }),
      maxBytes,
      idleTimeoutMs,
      timeoutMs: left * 1000,
      signal,
    });
  };
  // Parsing encodes what some upstreams leave bare, such as spaces. The guard judges the result.
  const address = URL.parse(url, upstream?.origin)?.href ?? url;
  const reply = await followRedirects(address, get).catch((error: unknown) => {
    throw tried(error);
  });
  if (statuses.has(reply.status) || isWhole(reply))
    return readThrough(decodeFile(reply, maxBytes), tried);
  reply.close();
  const message = `the address of an output was answered with ${reply.status}`;
  throw new OutputNotFetched(message, begunMs, { isGone: goneStatuses.has(reply.status) });
}

/** Whether the part that a reply has is the whole file. */
function isWhole({ status, headers }: Pick<Reply, 'status' | 'headers'>): boolean {
  const range = /^bytes 0-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '');
  return status === 206 && range !== null && BigInt(range[1]!) + 1n === BigInt(range[2]!);
}

/** Null for an error that another try cannot mend, or that the address did not cause. */
function notFetched(error: unknown, begunMs: number, signal: AbortSignal): OutputNotFetched | null {
  if (!(error instanceof FetchError)) return null;
  if (error.kind === 'blocked' || error.kind === 'too_large') return null;
  const isLate = fieldOf(signal.reason, 'name') === 'TimeoutError';
  if (signal.aborted && !isLate) return null;
  return new OutputNotFetched(`an output could not be fetched: ${error.message}`, begunMs, {
    cause: error,
  });
}

async function* readThrough(
  body: AsyncIterable<Uint8Array>,
  errorOf: (error: unknown) => unknown,
): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw errorOf(error);
  }
}
