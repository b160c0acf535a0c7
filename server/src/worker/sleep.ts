/** Shortest time between two rounds of a busy worker, so that several requests gather for each. */
export const paceMs = 5;

/** The pause between two rounds, which a hint may end early. */
export class Sleep {
  #hinted = false;
  #wakeable = false;
  #done: (() => void) | undefined;

  /** `always` also ends a pause that is not wakeable. */
  wake(always: boolean): void {
    this.#hinted = true;
    if (this.#wakeable || always) this.#done?.();
  }

  /** Waits only for `paceMs` if the pause is wakeable and a hint came since the last pause. */
  wait(ms: number, wakeable: boolean): Promise<void> {
    const wanted = wakeable && this.#hinted ? 0 : ms;
    this.#hinted = false;
    this.#wakeable = wakeable;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#done?.(), Math.max(wanted, paceMs));
      this.#done = () => {
        clearTimeout(timer);
        this.#done = undefined;
        resolve();
      };
    });
  }
}
