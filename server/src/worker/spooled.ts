import type { Transition } from '../core/request/request.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import type { Spool } from '../storage/spool.ts';
import { StorageAway, StorageFull } from '../storage/storage.ts';
import type { Bytes } from '../lib/streams.ts';
import type { OutputMedia, JobResult } from '../upstreams/upstream.ts';
import { spooledHandle } from './result-handle.ts';

/** Results that were fetched while the storage was away. They wait on the local disk. */

/**
 * For this long no other process touches a held request or gives it up. The process that has the
 * result renews this well before it ends; if its machine is gone, the time runs out.
 */
export const heldSeconds = 15 * 60;
/** Older results are given up, like any job that exceeds its time limit. */
const keptMaxMs = 24 * 3600 * 1000;
const againMs = 10_000;

/** An output whose bytes may be in the spool. */
export type Medium = Omit<OutputMedia, 'source'> & {
  source: OutputMedia['source'] | { spooled: () => Promise<Bytes> };
};

export type FinishedJob = Omit<JobResult, 'media'> & { media: Medium[] };

interface KeptMarker {
  upstream: string;
  fields: Record<string, unknown>;
  /** The output field of each file. */
  media: (string | null)[];
  quantity?: number;
  cost?: string;
}

/** True for a failure that ends when the storage is back or has room. */
export function isStorageFault(error: unknown): boolean {
  return error instanceof StorageAway || error instanceof StorageFull;
}

export function isSpooled({ media }: FinishedJob): boolean {
  return media.length > 0 && media.every(({ source }) => 'spooled' in source);
}

/**
 * Writes a result to the spool and returns it with its media read from there. Throws if that fails.
 */
export async function keepSpooled(
  row: ClaimedRequest,
  result: FinishedJob,
  spool: Spool,
  open: (media: Medium) => Promise<Bytes>,
): Promise<FinishedJob> {
  const { quantity, cost_usd_micro: cost } = result;
  const told: KeptMarker = {
    upstream: row.started_upstream ?? row.upstream,
    fields: result.fields,
    media: result.media.map(({ field }) => field),
    ...(quantity !== undefined && { quantity }),
    ...(cost !== undefined && { cost: String(cost) }),
  };
  const { id, account_id } = row;
  const attempt = row.started_in ?? row.attempt;
  const files = result.media.map((media) => () => open(media));
  await spool.keep({ id, attempt, account_id, told, files });
  return (await findSpooled(id, spool))!.result;
}

/** The result of a request in this spool; null if there is none or it is too old. */
export async function findSpooled(
  id: string,
  spool: Spool,
): Promise<{ result: FinishedJob; upstream: string; attempt: number } | null> {
  const found = await spool.find(id);
  if (found === null || Date.now() - found.kept_at > keptMaxMs) return null;
  // `keepSpooled` wrote it.
  const told = found.told as KeptMarker;
  const { upstream, fields, quantity, cost } = told;
  const result = {
    media: told.media.map((field, i) => ({ field, source: { spooled: found.files[i]! } })),
    fields,
    ...(quantity !== undefined && { quantity }),
    ...(cost !== undefined && { cost_usd_micro: BigInt(cost) }),
  };
  return { result, upstream, attempt: found.attempt };
}

/** The result waits in the spool for the storage; the upstream's slot is freed. */
export function heldTransition(row: ClaimedRequest, result: FinishedJob): Transition {
  const { id, attempt } = row;
  const handle = row.handle ?? spooledHandle(result);
  const started_in = row.started_in ?? attempt;
  return { id, attempt, to: 'accepted', started_in, handle, wake_seconds: heldSeconds, held: true };
}

/** Tracks when this process next handles each request whose result is in its spool. */
export class SpoolWatch {
  readonly #spool: Spool;
  readonly #next = new Map<string, number>();
  /**
   * Results found at start. The process that spooled them has died, so their leases are ignored.
   */
  readonly #found: Set<string>;
  #wasAway = false;

  constructor(spool: Spool) {
    this.#spool = spool;
    this.#found = new Set(spool.ids());
  }

  /** The ids that are due. `orphans`: due ids that may be claimed in spite of a lease. */
  due(isAway: boolean, limit: number): { ids: string[]; orphans: string[] } {
    if (this.#wasAway && !isAway) this.#next.clear();
    this.#wasAway = isAway;
    const now = performance.now();
    const isDue = (id: string) => (this.#next.get(id) ?? 0) <= now;
    const ids = this.#spool.ids().filter(isDue).slice(0, limit);
    const orphans = ids.filter((id) => this.#found.has(id));
    return { ids, orphans };
  }

  taken(ids: string[], isAway: boolean): void {
    const at = performance.now() + (isAway ? (heldSeconds * 1000) / 3 : againMs);
    for (const id of ids) {
      this.#found.delete(id);
      this.#next.set(id, at);
    }
  }

  /** Removes a result whose request has ended. */
  async remove(id: string): Promise<void> {
    this.#next.delete(id);
    this.#found.delete(id);
    await this.#spool.remove(id);
  }
}
