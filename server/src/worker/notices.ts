/**
 * How many notifications a worker sends at a time: a quarter of what it handles, and half of that
 * for one account. A receiver that does not answer holds its place for as long as a notification
 * may take; jobs, and the notifications of others, are not to wait for it.
 */
export class NoticePlaces {
  readonly #max: number;
  readonly #accountMax: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(concurrency: number) {
    this.#max = Math.max(1, Math.floor(concurrency / 4));
    this.#accountMax = Math.max(1, Math.floor(concurrency / 8));
  }

  /** False where there is none for this account. */
  take(accountId: string): boolean {
    const taken = this.#taken.get(accountId) ?? 0;
    if (this.#all >= this.#max || taken >= this.#accountMax) return false;
    this.#all += 1;
    this.#taken.set(accountId, taken + 1);
    return true;
  }

  release(accountId: string): void {
    const left = (this.#taken.get(accountId) ?? 0) - 1;
    this.#all -= 1;
    if (left > 0) this.#taken.set(accountId, left);
    else this.#taken.delete(accountId);
  }
}
