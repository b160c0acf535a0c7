import { eachOnce, namedByKind } from '../core/media/output-fields.ts';
import {
  countedQuantity,
  deliveredQuantity,
  isDelivered,
  soldOutputs,
} from '../core/price/delivered.ts';
import { charge, chargedQuantity } from '../core/price/price.ts';
import { quoteFromJson } from '../core/price/quote-json.ts';
import type { EndTransition, Transition } from '../core/request/request.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { isObject, isWithinDepth, itemsOf, objectOf, storableJson } from '../lib/json.ts';
import { messageOf } from '../lib/unknown.ts';
import { StorageAway } from '../storage/storage.ts';
import { endOf, failedTransition } from './end.ts';
import { OutputNotFetched } from './fetch-output.ts';
import { costOf, countOf, catalogCost } from './job-cost.ts';
import { bytesOf, discard, keepEach, type KeptOutputs } from './keep-outputs.ts';
import { fieldsDepthMax } from './result-handle.ts';
import {
  heldTransition,
  isSpooled,
  isStorageFault,
  keepSpooled,
  type FinishedJob,
} from './spooled.ts';
import type { StepDeps } from './step.ts';
import { asUnfetched, asUnusable, lastOf, tooLarge, UnusableOutput } from './unusable-output.ts';

/** More media than any request can ask for: an upstream that returns more is broken. */
const mediaMax = 200;
/** Maximum size of an upstream's answer besides its media, as JSON. */
const fieldsMaxBytes = 1024 * 1024;
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
    return failedTransition(row, failure.code, failure.message, facts);
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
    cost_usd_micro: costOf(result) ?? catalogCost(row, model, billed),
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
