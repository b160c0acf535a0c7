import type { Model } from '../core/catalog/catalog.ts';
import { extensionOf, kindOf, typeName, typeNames } from '../core/media/content-type.ts';
import { eachOnce, namedByKind } from '../core/media/output-fields.ts';
import {
  countedQuantity,
  deliveredQuantity,
  isDelivered,
  soldOutputs,
} from '../core/price/delivered.ts';
import { costMaxUsdMicro, mediaCost } from '../core/price/cost.ts';
import { failures, type FailureCode, type FailureDetails } from '../core/errors.ts';
import { withDefaults } from '../core/catalog/model-input.ts';
import { charge, chargedQuantity } from '../core/price/price.ts';
import { redactInput } from '../core/request/redact.ts';
import { quoteFromJson } from '../core/price/quote-json.ts';
import type { EndTransition, Output, Transition } from '../core/request/request.ts';
import { routeTo } from '../core/request/routing.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { FetchError } from '../lib/outbound/fetch.ts';
import {
  isObject,
  isWithinDepth,
  itemsOf,
  objectOf,
  storableJson,
  storableText,
} from '../lib/json.ts';
import { readHead, once } from '../lib/streams.ts';
import { messageOf } from '../lib/unknown.ts';
import { inspect, type InspectedFile } from '../storage/inspect.ts';
import { describe, sniff, sniffBytes } from '../core/media/sniff.ts';
import { FileDamaged } from '../storage/picture.ts';
import { StorageAway, TooLarge } from '../storage/storage.ts';
import type { JobResult } from '../upstreams/upstream.ts';
import { fetchOutput, OutputNotFetched } from './fetch-output.ts';
import { fieldsDepthMax } from './result-handle.ts';
import {
  heldTransition,
  isSpooled,
  isStorageFault,
  keepSpooled,
  type FinishedJob,
  type Medium,
} from './spooled.ts';
import type { StepDeps } from './step.ts';

/** More media than any request can ask for: an upstream that returns more is broken. */
const mediaMax = 200;
/** Maximum size of an upstream's answer besides its media, as JSON. */
const fieldsMaxBytes = 1024 * 1024;
/** More units than any request can ask for. A larger count is ignored. */
const quantityMax = 1_000_000_000;

/** The upstream's output can never be kept, so the request fails and nothing is charged. */
class UnusableOutput extends Error {
  readonly code: FailureCode;
  readonly details: FailureDetails | undefined;
  /** Whether the file may still come: stores answer with a text until it is there. */
  readonly mayCome: boolean;
  constructor(
    code: FailureCode,
    message: string,
    reason?: FailureDetails['reason'],
    mayCome = false,
  ) {
    super(message);
    this.code = code;
    this.details = reason && { reason };
    this.mayCome = mayCome;
  }
}

/**
 * Copies, measures and prices what the upstream made. While the storage is away, the result waits
 * in the spool. Throws if the bytes could not be fetched or stored, because another try may
 * succeed.
 */
export async function finish(
  row: ClaimedRequest,
  result: FinishedJob,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition> {
  try {
    if (result.media.length > mediaMax)
      throw new UnusableOutput('output_unusable', 'The model returned too many files.');
    // Checked before anything is downloaded.
    const safe = { ...result, media: eachOnce(result.media), fields: fieldsOf(result) };
    const kept = isFleeting(row, safe) ? await spooled(row, safe, deps, signal) : safe;
    return await storeAll(row, kept ?? safe, deps, signal);
  } catch (error) {
    const failure = asUnusable(error) ?? asUnfetched(row, error);
    if (failure === null) throw error;
    const facts = { cost: costOf(result), cause: messageOf(error), details: failure.details };
    return fail(row, failure.code, failure.message, facts);
  }
}

/**
 * Whether the bytes came in the answer to the start, so that they cannot be fetched a second time.
 */
function isFleeting(row: ClaimedRequest, { media }: FinishedJob): boolean {
  return row.handle === null && media.some(({ source }) => 'bytes' in source);
}

async function storeAll(
  row: ClaimedRequest,
  result: FinishedJob,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition> {
  try {
    if (result.media.length > 0 && deps.storage.isAway()) throw new StorageAway();
    return complete(row, result, await keepEach(row, result, deps, signal), deps);
  } catch (error) {
    const isFault = isStorageFault(error);
    // While the storage is away, removing would fail; expiry removes these outputs with the others.
    if (!isFault) await discard(row, result.media.length, deps);
    if (asUnusable(error) || !(isFault || isSpooled(result))) throw error;
    const kept = await spooled(row, result, deps, signal);
    if (kept === null) throw error;
    return heldTransition(row, kept);
  }
}

/** Null for what another fetch of the same address cannot mend. */
function unread(error: unknown, begunMs: number): OutputNotFetched | null {
  const unusable = asUnusable(error);
  if (!unusable?.mayCome) return null;
  return new OutputNotFetched(unusable.message, begunMs, { cause: unusable });
}

interface KeptOutputs {
  outputs: UnnamedOutput[];
  /** The errors of those that could not be kept. */
  lost: unknown[];
}

/** Keeps what can be kept. Throws what another try may mend. */
async function keepEach(
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

/** The result as read from the spool; null if the spool could not keep it. */
async function spooled(
  row: ClaimedRequest,
  result: FinishedJob,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<FinishedJob | null> {
  if (isSpooled(result)) return result;
  try {
    return await keepSpooled(row, result, deps.spool, (media) => bytesOf(row, media, deps, signal));
  } catch (err) {
    if (asUnusable(err)) throw err;
    deps.log.error({ request_id: row.id, err }, 'a result could not be kept in the spool');
    return null;
  }
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

/**
 * The fields of the answer besides the media, as callers see them, without the upstream's
 * addresses. Anything that could make the database refuse them is checked here, because a failing
 * write would roll back the other requests in its transaction.
 */
function fieldsOf({ fields }: FinishedJob): Record<string, unknown> {
  if (!isWithinDepth(fields, fieldsDepthMax)) {
    const message = `The model returned fields nested deeper than ${fieldsDepthMax} levels.`;
    throw new UnusableOutput('output_unusable', message);
  }
  const kept = objectOf(withoutAddresses(fields));
  if (Buffer.byteLength(storableJson(kept)) > fieldsMaxBytes) throw tooLarge();
  return kept;
}

/** Undefined for a string that is an address; lists and objects lose these strings. */
function withoutAddresses(value: unknown): unknown {
  if (typeof value === 'string') return /^\s*https?:\/\/\S*\s*$/i.test(value) ? undefined : value;
  if (Array.isArray(value)) return value.map(withoutAddresses).filter((each) => each !== undefined);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).map(([name, each]) => [name, withoutAddresses(each)] as const);
  return Object.fromEntries(kept.filter(([, each]) => each !== undefined));
}

/** Throws if the result is not what the catalog row sells; then nothing is charged. */
function complete(
  row: ClaimedRequest,
  result: FinishedJob,
  { outputs, lost }: KeptOutputs,
  deps: StepDeps,
): EndTransition {
  const model = deps.catalog().models.get(row.model_id);
  const sold = { kind: row.kind, task: model?.task };
  if (!isDelivered(sold, outputs, result.fields.text)) {
    if (lost.length > 0) throw lost[0];
    const message =
      outputs.length === 0
        ? 'The model returned no output.'
        : 'The model returned files of another kind than it is listed for.';
    throw new UnusableOutput('output_unusable', message);
  }
  const quote = quoteFromJson(row.quote);
  const shown = deliveredQuantity({ unit: quote.unit, task: model?.task }, outputs, quote.quantity);
  // The upstream counted the lost ones, too.
  const quantity = countedQuantity(quote.unit, lost.length === 0 ? countOf(result) : null, shown);
  const billed = chargedQuantity(quote, quantity);
  return {
    ...endOf(row),
    to: 'COMPLETED',
    charge: charge(quote, quantity === null ? {} : { quantity }),
    output:
      lost.length === 0 ? result.fields : { ...result.fields, left_out: leftOut(result, lost) },
    outputs: namedByKind(outputs, soldOutputs(sold, outputs)),
    quantity: billed,
    cost_usd_micro: costOf(result) ?? statedCost(row, model, billed),
    ttl_seconds: deps.settings.outputTtlSeconds,
  };
}

function leftOut({ fields }: FinishedJob, lost: unknown[]): unknown[] {
  return [
    ...itemsOf(fields.left_out),
    ...lost.map((each) =>
      each instanceof OutputNotFetched ? lastOf(each).message : asUnusable(each)!.message,
    ),
  ];
}

/** A count that is not a usable number is treated as missing. */
export function countOf({ quantity = NaN }: Pick<JobResult, 'quantity'>): number | null {
  return Number.isFinite(quantity) && quantity >= 0 && quantity <= quantityMax ? quantity : null;
}

/** Cost of a job whose outputs are not examined: the requested quantity counts as delivered. */
export function costOfRun(row: ClaimedRequest, result: JobResult, deps: StepDeps): bigint | null {
  const billed = chargedQuantity(quoteFromJson(row.quote), countOf(result));
  const model = deps.catalog().models.get(row.model_id);
  return costOf(result) ?? statedCost(row, model, billed);
}

/** Cost by the catalog row; null if the row states none. */
export function statedCost(
  row: ClaimedRequest,
  model: Model | undefined,
  billed: number,
): bigint | null {
  const { started_upstream, upstream_model } = row;
  const route = routeTo(model?.upstreams ?? [], started_upstream ?? '', upstream_model);
  const asked = { ...row.quote.assumptions, ...row.input };
  if (!model) return mediaCost(route, billed, { input: asked });
  return mediaCost(route, billed, {
    input: withDefaults(model, asked),
    extras: model.price.extras,
  });
}

export function costOf({
  cost_usd_micro: cost = -1n,
}: Pick<JobResult, 'cost_usd_micro'>): bigint | null {
  return cost >= 0n && cost <= costMaxUsdMicro ? cost : null;
}

/** An output that has the field of its upstream's claim, if there is one. */
type UnnamedOutput = Omit<Output, 'field'> & { field: string | null };

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

async function bytesOf(
  row: ClaimedRequest,
  media: Medium,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  if ('bytes' in media.source) return once(media.source.bytes);
  if ('spooled' in media.source) return media.source.spooled();
  return fetchOutput(row, media.source, deps, signal);
}

/** Null while another try may fetch the output. Bytes of a start's answer come only once. */
function asUnfetched(row: ClaimedRequest, error: unknown): UnusableOutput | null {
  if (!(error instanceof OutputNotFetched)) return null;
  const isOver = row.handle === null || error.isLast(row.unfetched_seconds);
  return isOver ? lastOf(error) : null;
}

/** Why an output is given up that could not be fetched, or not be read at its address. */
function lastOf({ cause }: OutputNotFetched): UnusableOutput {
  if (cause instanceof UnusableOutput) return cause;
  return new UnusableOutput('output_unusable', unfetchedMessage, 'not_fetched');
}

function asUnusable(error: unknown): UnusableOutput | null {
  if (error instanceof UnusableOutput) return error;
  const isTooLarge =
    error instanceof TooLarge || (error instanceof FetchError && error.kind === 'too_large');
  if (isTooLarge) return tooLarge();
  if (error instanceof FileDamaged) {
    const message = 'The model returned a damaged file.';
    return new UnusableOutput('output_unusable', message, 'damaged', true);
  }
  if (error instanceof FetchError && error.kind === 'blocked') {
    return new UnusableOutput(
      'output_unusable',
      'The model returned an address that must not be fetched.',
      'not_fetched',
    );
  }
  return null;
}

function tooLarge(): UnusableOutput {
  return new UnusableOutput('output_too_large', failures.output_too_large);
}

/** The message of a request whose outputs could not be fetched. */
export const unfetchedMessage = 'The model finished, but its output could not be fetched.';

/** Fields that a worker sets whenever it ends a request. */
export function endOf(row: ClaimedRequest) {
  const { id, attempt, account_id, key_id, model_id } = row;
  const upstream = row.started_upstream ?? row.upstream;
  return { id, attempt, account_id, key_id, model_id, upstream, opens_job: row.kind !== 'text' };
}

/** `cost`: the operator's, if known. `cause`: for the operator, if callers see another message. */
interface FailureFacts {
  cost?: bigint | null;
  cause?: string;
  details?: FailureDetails | undefined;
}

export function fail(
  row: ClaimedRequest,
  code: FailureCode,
  message: string,
  { cost = null, cause = message, details }: FailureFacts = {},
): EndTransition {
  const shown = redactInput(cause, row.input);
  const told = details && { details };
  return {
    ...endOf(row),
    to: 'FAILED',
    code,
    message,
    ...told,
    cost_usd_micro: cost,
    cause: shown,
  };
}
