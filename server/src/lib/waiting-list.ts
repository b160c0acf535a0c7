/** First in, first out. `shift` would move all other items of a long list. */
export class WaitingList<T> {
  readonly #items: T[] = [];
  #taken = 0;

  add(item: T): void {
    this.#items.push(item);
  }

  /** Takes the first item; undefined: there is none. */
  take(): T | undefined {
    return this.#taken < this.#items.length ? this.#items[this.#taken++] : undefined;
  }
}

/** The waiting list with this key, which is made if it is not there. */
export function waitingIn<K, T>(lists: Map<K, WaitingList<T>>, key: K): WaitingList<T> {
  const list = lists.get(key) ?? new WaitingList();
  lists.set(key, list);
  return list;
}
