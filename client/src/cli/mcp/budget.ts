import { formatUsd, type Farebox } from '../../index.ts';
import { ToolError } from './replies.ts';

/** Money that one call may cost, taken aside before anything is sent. */
export interface Hold {
  amount: bigint;
  /** Known once it was submitted; with it the charge can be looked up. */
  requestId: string | null;
}

/**
 * What all calls together may spend while the server runs, whatever the sessions: an agent that
 * connects anew gets no new money. What is reserved counts in full until its charge is known.
 */
export class Budget {
  readonly limit: bigint;
  #charged = 0n;
  readonly #holds = new Set<Hold>();

  constructor(limit: bigint) {
    this.limit = limit;
  }

  /** Charged, and reserved by what has not ended yet. */
  get spent(): bigint {
    return [...this.#holds].reduce((sum, { amount }) => sum + amount, this.#charged);
  }

  get left(): bigint {
    const left = this.limit - this.spent;
    return left > 0n ? left : 0n;
  }

  /** Takes `amount` aside, or refuses. */
  async hold(amount: bigint, client: Farebox): Promise<Hold> {
    // Jobs that nobody waits for may have ended and cost less, or nothing.
    if (amount > this.left) await this.settleEnded(client);
    // From the look to the hold nothing waits, so that no two calls take the same rest.
    if (amount > this.left) {
      throw new ToolError(
        'session_limit_reached',
        `This costs ${formatUsd(amount)}, and ${formatUsd(this.left)} of the ` +
          `${formatUsd(this.limit)} that the user allowed are left. Nothing was submitted. ` +
          'Only the user can allow more, by starting the server with a higher --max-usd.',
        { price_usd_micro: amount, left_usd_micro: this.left, limit_usd_micro: this.limit },
      );
    }
    const hold: Hold = { amount, requestId: null };
    this.#holds.add(hold);
    return hold;
  }

  /** The end of a hold: what it did cost counts from here on. A second end changes nothing. */
  settle(hold: Hold, charged: bigint): void {
    if (this.#holds.delete(hold)) this.#charged += charged;
  }

  /** Settles by the card of a request, where it has ended. */
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

  /** For replies: an agent plans with it, and its user sees what goes on. */
  view(): Record<string, string> {
    return {
      limit_usd: formatUsd(this.limit),
      spent_usd: formatUsd(this.spent),
      left_usd: formatUsd(this.left),
    };
  }
}
