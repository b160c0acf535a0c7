import type { Handle, OutputMedia, Result } from '../upstreams/upstream.ts';

/**
 * A start that was answered with the result: as far as it is addresses only, it is kept as the
 * job's handle, so that outputs which cannot be fetched just now are fetched later.
 */

interface Kept {
  media: OutputMedia[];
  fields: Record<string, unknown>;
  quantity?: number;
  cost?: string;
}

/** Null where nothing is to be fetched, or the result holds bytes, which are at hand. */
export function finishedHandle({ media, fields, quantity, ...told }: Result): Handle | null {
  if (media.length === 0 || media.some(({ source }) => 'bytes' in source)) return null;
  const cost = told.cost_usd_micro?.toString();
  const kept: Kept = { media, fields, ...(quantity !== undefined && { quantity }) };
  return { finished: { ...kept, ...(cost !== undefined && { cost }) } };
}

/** The result that such a handle holds; null for an upstream's own handle. */
export function resultIn(handle: Handle): Result | null {
  const finished = handle.finished as Kept | undefined;
  if (finished === undefined) return null;
  const { cost, ...result } = finished;
  return { ...result, ...(cost !== undefined && { cost_usd_micro: BigInt(cost) }) };
}
