import { FareboxError, formatUsd, type Estimate } from '../../index.ts';
import { messageOf } from '../../unknown.ts';
import { unknownTexts } from '../help/unknown-inputs.ts';
import type { Hold } from './budget.ts';
import type { Call, Desk } from './calls.ts';
import { ToolError } from './replies.ts';

/** Ten minutes, because the person may be away. */
const askMs = 600_000;

export const maxUsdText =
  'The most this may cost, in USD: the price from get_price, or more. Without it nothing is ' +
  'spent unless the user agrees to the price when asked.';

/**
 * Reserves the price if it is within the most that the agent agreed to pay, within the user's limit
 * for the session, and accepted by the user, if they can be asked.
 */
export async function agree(
  desk: Desk,
  estimate: Estimate,
  maxUsd: number | undefined,
  call: Call,
): Promise<Hold> {
  const { model_id: what, price_usd_micro: price, unknown_inputs } = estimate;
  const unknown = unknownTexts(estimate)
    .map((text) => ` ${text}`)
    .join('');
  const canAsk = desk.ask && !!desk.server.server.getClientCapabilities()?.elicitation?.form;
  if (maxUsd === undefined ? !canAsk : price > microOf(maxUsd)) {
    const named = maxUsd === undefined ? '' : `, more than the max_usd of ${maxUsd}`;
    throw new ToolError(
      'price_not_agreed',
      `${what} costs at most ${formatUsd(price)}${named}. Nothing was submitted. ` +
        `To spend that, call again with max_usd ${formatUsd(price).slice(1)}.${unknown}`,
      { price_usd_micro: price, unknown_inputs },
    );
  }
  const hold = await desk.budget.hold(price, desk.client);
  try {
    if (canAsk && price > 0n) await askUser(desk, estimate, unknown, call);
    call.signal.throwIfAborted();
  } catch (error) {
    desk.budget.settle(hold, 0n);
    throw error;
  }
  return hold;
}

async function askUser(
  desk: Desk,
  { model_id, price_usd_micro: price }: Estimate,
  unknown: string,
  call: Call,
): Promise<void> {
  const left = `${formatUsd(desk.budget.left)} of ${formatUsd(desk.budget.limit)}`;
  const { action } = await desk.server.server.elicitInput(
    {
      mode: 'form',
      message:
        `${model_id} costs at most ${formatUsd(price)}. After that, ${left} will be left.${unknown} ` +
        'Spend it?',
      requestedSchema: { type: 'object', properties: {} },
    },
    { signal: call.signal, timeout: askMs, relatedRequestId: call.requestId },
  );
  if (action === 'accept') return;
  throw new ToolError('declined', 'The user did not agree to the price. Nothing was submitted.', {
    price_usd_micro: price,
  });
}

/** Rounds down: a limit below a millionth allows nothing. */
function microOf(usd: number): bigint {
  return BigInt(Math.floor(Number((usd * 1e6).toFixed(3))));
}

/**
 * Settles the hold of a failed submit. A refused submit has cost nothing; if the reply was lost,
 * the outcome is unknown and the hold stays.
 */
export function afterSubmit({ budget }: Desk, hold: Hold, error: unknown): unknown {
  if (error instanceof FareboxError && !error.mayHaveBeenAccepted) {
    budget.settle(hold, 0n);
    return error;
  }
  const message = messageOf(error);
  return new ToolError(
    error instanceof FareboxError ? error.code : 'internal_error',
    // The message's other sentences are for programs that keep the idempotency key.
    `${message.split('. ')[0]}. The request may have been accepted: check with list_requests before ` +
      `you try again. Its price, ${formatUsd(hold.amount)}, counts as spent.`,
    { price_usd_micro: hold.amount },
  );
}
