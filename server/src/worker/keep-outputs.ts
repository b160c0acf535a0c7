import { extensionOf, kindOf, typeName, typeNames } from '../core/media/content-type.ts';
import { describe, sniff, sniffBytes } from '../core/media/sniff.ts';
import type { Output } from '../core/request/request.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { storableText } from '../lib/json.ts';
import { once, readHead } from '../lib/streams.ts';
import { inspect, type InspectedFile } from '../storage/inspect.ts';
import { fetchOutput, OutputNotFetched } from './fetch-output.ts';
import type { FinishedJob, Medium } from './spooled.ts';
import type { StepDeps } from './step.ts';
import { asUnfetched, asUnusable, UnusableOutput } from './unusable-output.ts';

/** An output that has the field of its upstream's claim, if there is one. */
type UnnamedOutput = Omit<Output, 'field'> & { field: string | null };

export interface KeptOutputs {
  outputs: UnnamedOutput[];
  /** The errors of those that could not be kept. */
  lost: unknown[];
}

/** Keeps what can be kept. Throws what another try may mend. */
export async function keepEach(
  row: ClaimedRequest,
  { media }: FinishedJob,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<KeptOutputs> {
  const outputs: UnnamedOutput[] = [];
  const lost: unknown[] = [];
  let later: OutputNotFetched | null = null;
  for (const each of media) {
    const begunMs = performance.now();
    try {
      outputs.push(await keep(row, outputs.length, each, deps, signal));
    } catch (thrown) {
      const error = 'url' in each.source ? (unread(thrown, begunMs) ?? thrown) : thrown;
      if (asUnusable(error) ?? asUnfetched(row, error)) lost.push(error);
      else if (error instanceof OutputNotFetched) later = error;
      else throw error;
    }
  }
  if (later !== null) {
    // Outputs that are there do not wait as long as one that is alone.
    const isOver = outputs.length > 0 && later.isGone(row.unfetched_seconds);
    if (!isOver) throw later;
    lost.push(later);
  }
  // The last lost file; the others were overwritten.
  if (lost.length > 0) await deps.storage.remove(outputKey(row, outputs.length)).catch(() => {});
  return { outputs, lost };
}

/** Null for what another fetch of the same address cannot mend. */
function unread(error: unknown, begunMs: number): OutputNotFetched | null {
  const unusable = asUnusable(error);
  if (!unusable?.mayCome) return null;
  return new OutputNotFetched(unusable.message, begunMs, { cause: unusable });
}

async function keep(
  row: ClaimedRequest,
  index: number,
  media: Medium,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<UnnamedOutput> {
  const maxBytes = deps.settings.FAREBOX_OUTPUT_MAX_BYTES;
  const { head, stream } = await readHead(await bytesOf(row, media, deps, signal), sniffBytes);
  const refusal = await refusalOf(head);
  if (refusal !== null) {
    // Closes the source; otherwise its connection would stay open.
    await stream[Symbol.asyncIterator]().return?.();
    throw refusal;
  }
  const storage_key = outputKey(row, index);
  const { size, sha256 } = await deps.storage.put(storage_key, stream, { maxBytes, signal });
  const { content_type, ...measured } = await deps.decoding.run(
    row.account_id,
    () => inspectStored(storage_key, deps),
    // Outputs wait as long as it takes: a late share must not fail them.
    { signal, continues: true },
  );
  const { width = null, height = null, duration_seconds = null } = measured;
  return {
    index,
    field: media.field === null ? null : storableText(media.field),
    storage_key,
    content_type,
    size,
    sha256,
    width,
    height,
    duration_seconds,
    file_name: `${row.id.slice(-12)}-${index}.${extensionOf(content_type)}`,
  };
}

/** Copied here from another store only in its share, or copies of all that wait fill the disk. */
async function inspectStored(key: string, { storage }: StepDeps): Promise<InspectedFile> {
  const local = await storage.openAsPath(key);
  if (local === null) throw new Error(`output ${key} vanished`);
  try {
    return await inspect(local.path);
  } finally {
    await local.done();
  }
}

const isKept = (content_type: string) => kindOf(content_type) !== null;

/** Null if a file with these first bytes may be kept. */
async function refusalOf(head: Uint8Array): Promise<UnusableOutput | null> {
  const type = await sniff(head);
  if (type !== null && isKept(type)) return null;
  const found = type === null ? await describe(head) : typeName(type);
  const message =
    'The model returned a file that is not an image, video or audio of a type that is kept, ' +
    `but ${found}. Kept are ${typeNames(isKept)}.`;
  const mayCome = head.length === 0 || (type ?? found).startsWith('text');
  return new UnusableOutput('output_unusable', message, 'not_media', mayCome);
}

export async function bytesOf(
  row: ClaimedRequest,
  media: Medium,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  if ('bytes' in media.source) return once(media.source.bytes);
  if ('spooled' in media.source) return media.source.spooled();
  return fetchOutput(row, media.source, deps, signal);
}

export function outputPrefix(requestId: string): string {
  return `outputs/${requestId}`;
}

/**
 * Tries to remove what one attempt has stored, because no row will refer to it. Files of other
 * attempts stay: they may be the ones that are kept.
 */
export async function discard(
  claim: { id: string; attempt: number },
  count: number,
  { storage }: Pick<StepDeps, 'storage'>,
): Promise<void> {
  const keys = Array.from({ length: count }, (_, index) => outputKey(claim, index));
  await Promise.allSettled(keys.map((key) => storage.remove(key)));
}

/**
 * The attempt is part of the name, so a late worker never overwrites what a later attempt stores.
 */
function outputKey({ id, attempt }: { id: string; attempt: number }, index: number): string {
  // guard: outputs-per-attempt (off: 'same')
  const name = `${attempt}-${index}`;
  return `${outputPrefix(id)}/${name}`;
}
