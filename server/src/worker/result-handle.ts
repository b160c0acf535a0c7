import { isWithinDepth } from '../lib/json.ts';
import type { Handle, OutputMedia, JobResult } from '../upstreams/upstream.ts';

/**
 * Results that came in the answer to a start. Their addresses are kept as the job's handle, so that
 * outputs that cannot be fetched now are fetched later.
 */

/** Adapters use plain identifiers as the fields of their handles, so none equals this mark. */
const mark = 'farebox:finished';
/** A handle is read at every poll, so a result larger than this is finished at once. */
const handleMaxBytes = 256 * 1024;

/** Fields besides the media that are nested deeper than this are not kept. */
export const fieldsDepthMax = 64;

interface KeptHandle {
  media: OutputMedia[];
  fields: Record<string, unknown>;
  quantity?: number;
  cost?: string;
  /** The media are in the spool of the machine that fetched them. */
  spooled?: true;
}

/**
 * The handle of a result to fetch later. Null if there is nothing to download, if the bytes came
 * with the answer, or if the result is too large or nested too deeply to be a handle.
 */
export function finishedHandle({ media, fields, quantity, ...told }: JobResult): Handle | null {
  if (!isWithinDepth(fields, fieldsDepthMax)) return null;
  if (media.length === 0 || media.some(({ source }) => 'bytes' in source)) return null;
  const cost = told.cost_usd_micro?.toString();
  const kept: KeptHandle = { media, fields, ...(quantity !== undefined && { quantity }) };
  const handle = { [mark]: { ...kept, ...(cost !== undefined && { cost }) } };
  return Buffer.byteLength(JSON.stringify(handle)) > handleMaxBytes ? null : handle;
}

/**
 * The handle of a result in the spool. It includes the cost, because the machine with the spool may
 * never return.
 */
export function spooledHandle({
  quantity,
  cost_usd_micro: cost,
}: Omit<JobResult, 'media'>): Handle {
  const told = {
    ...(quantity !== undefined && { quantity }),
    ...(cost !== undefined && { cost: String(cost) }),
  };
  return { [mark]: { media: [], fields: {}, spooled: true, ...told } satisfies KeptHandle };
}

function keptIn(handle: Handle): KeptHandle | undefined {
  // Only `finishedHandle` and `spooledHandle` write under this mark.
  return handle[mark] as KeptHandle | undefined;
}

export function isHeldElsewhere(handle: Handle): boolean {
  return keptIn(handle)?.spooled === true;
}

/** The result in a handle that this file made; null for an upstream's own handle. */
export function resultIn(handle: Handle): JobResult | null {
  const finished = keptIn(handle);
  if (finished === undefined) return null;
  const { cost, spooled: _spooled, ...result } = finished;
  return { ...result, ...(cost !== undefined && { cost_usd_micro: BigInt(cost) }) };
}
