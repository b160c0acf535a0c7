import { formatUsd, type Farebox } from '../../index.ts';
import { ToolError } from './replies.ts';

/** Money that one call may cost, reserved before anything is sent. */
export interface Hold {
  amount: bigint;
  /** Known after the submit; needed to look up the charge. */
  requestId: string | null;
}

/**
 * The budget of all calls while the server runs, shared by all sessions: an agent that reconnects
 * gets no new money. A reservation counts in full until its charge is known.
 */
export class Budget {
  readonly limit: bigint;
  #charged = 0n;
  readonly #holds = new Set<Hold>();

  constructor(limit: bigint) {
    this.limit = limit;
  }

  /** Charged, plus what open requests reserve. */
  get spent(): bigint {
    return [...this.#holds].reduce((sum, { amount }) => sum + amount, this.#charged);
  }

  get left(): bigint {
    const left = this.limit - this.spent;
    return left > 0n ? left : 0n;
  }

  /** Reserves `amount`. Throws if it exceeds the budget. */
  async hold(amount: bigint, client: Farebox): Promise<Hold> {
    // Requests that nobody waits for may have ended at a lower cost, or at none.
    if (amount > this.left) await this.settleEnded(client);
    // There is no await between the check and the hold, so two calls cannot take the same money.
    if (amount > this.left) {
      throw new ToolError(
        'session_limit_reached',
        `This costs ${formatUsd(amount)}, but only ${formatUsd(this.left)} is left of the ` +
          `${formatUsd(this.limit)} that the user allowed. Nothing was submitted. ` +
          'Only the user can allow more, by starting the server with a higher --max-usd.',
        { price_usd_micro: amount, left_usd_micro: this.left, limit_usd_micro: this.limit },
      );
    }
    const hold: Hold = { amount, requestId: null };
    this.#holds.add(hold);
    return hold;
  }

  /** Ends a hold: from now on, the actual charge counts. Ending it again has no effect. */
  settle(hold: Hold, charged: bigint): void {
    if (this.#holds.delete(hold)) this.#charged += charged;
  }

  /** Ends the hold of a request if its card shows that it has ended. */
  settleBy(card: { request_id: string; charged_usd_micro: bigint | null }): void {
    if (card.charged_usd_micro === null) return;
    for (const hold of this.#holds) {
      if (hold.requestId === card.request_id) this.settle(hold, card.charged_usd_micro);
    }
  }

  async settleEnded(client: Farebox): Promise<void> {
    const ids = [...this.#holds].map(({ requestId }) => requestId).filter((id) => id !== null);
    const cards = await Promise.allSettled(ids.map((id) => client.requests.get(id)));
    for (const card of cards) if (card.status === 'fulfilled') this.settleBy(card.value);
  }

  /** The budget as shown in replies, so that an agent can plan and its user sees the spending. */
  view(): Record<string, string> {
    return {
      limit_usd: formatUsd(this.limit),
      spent_usd: formatUsd(this.spent),
      left_usd: formatUsd(this.left),
    };
  }
}
