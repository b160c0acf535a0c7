import { AsyncLocalStorage } from 'node:async_hooks';
import type { Countdown } from './bounded.ts';

export interface FairQueueOptions {
  /**
   * Work that has a place may wait only for queues with a higher number, so that no works wait for
   * each other's places.
   */
  order: number;
  /** Works that run at the same time. */
  places: number;
  /** Places that one owner holds at most. */
  perOwner: number;
  waitMs: number;
  /** Works of one owner that wait, to limit the memory. Beyond it `NoPlace` comes at once. */
  waitingMax?: number;
  /**
   * An owner's share stays taken after the work for this many times as long as the work took, while
   * others have the place. So with 1, an owner gets at most half of a place's time.
   */
  rest?: number;
}

export interface Wait {
  /** Ends the wait; work that has begun goes on. */
  signal?: AbortSignal | undefined;
  /**
   * The work continues work that was accepted earlier. It waits without a time limit, before new
   * work of its owner.
   */
  continues?: boolean | undefined;
  /** Waits, so that the wait takes nothing from a time limit. */
  aside?: Countdown['aside'];
  /** The time from which the owner rests, if not all the time that the work has its place. */
  tookMs?: () => number;
}

/** The highest order of the queues in which the running work has a place. */
const held = new AsyncLocalStorage<number>();

/** Work waited too long for a place, or too much work of its owner waits already. */
export class NoPlace extends Error {
  /** True if other work of the owner was in the way; false if others held all places. */
  readonly own: boolean;
  constructor(own: boolean) {
    super(own ? 'the owner has used its share' : 'others hold all places');
    this.name = 'NoPlace';
    this.own = own;
  }
}

interface Owner {
  name: string;
  /** Places that it has, or rests from. */
  held: number;
  /** Works that have begun. */
  begun: number;
  /** Begins the works that wait, oldest first: those that continue others, and new ones. */
  continuing: Set<() => void>;
  waiting: Set<() => void>;
}

const newOwner = (name: string): Owner => ({
  name,
  held: 0,
  begun: 0,
  continuing: new Set(),
  waiting: new Set(),
});

const waitingOf = ({ continuing, waiting }: Owner) => continuing.size + waiting.size;

/** Places for work, which owners take in turns. Work that finds none free waits. */
export class FairQueue {
  readonly #options: Required<FairQueueOptions>;
  /** Those that hold or wait. An owner moves to the end when it gets or leaves a place. */
  readonly #owners = new Map<string, Owner>();
  #free: number;
  #refused = 0;

  constructor(options: FairQueueOptions) {
    this.#options = { waitingMax: 1_000, rest: 0, ...options };
    this.#free = options.places;
  }

  /** Works that run, that wait, and that got no place so far. */
  stats(): { running: number; waiting: number; refused: number } {
    const waiting = [...this.#owners.values()].reduce((sum, owner) => sum + waitingOf(owner), 0);
    return { running: this.#options.places - this.#free, waiting, refused: this.#refused };
  }

  /**
   * Runs `work` as soon as its owner gets a place. Rejects with `NoPlace` after `waitMs`, and with
   * the signal's reason if the signal fires before the work has begun.
   */
  async run<T>(name: string, work: () => T | Promise<T>, wait: Wait = {}): Promise<T> {
    const { order, perOwner } = this.#options;
    if ((held.getStore() ?? -Infinity) >= order)
      throw new Error('work that has a place waits for another one, perhaps for ever');
    wait.signal?.throwIfAborted();
    const owner = this.#owners.get(name) ?? newOwner(name);
    if (this.#free > 0 && owner.held < perOwner) this.#take(owner);
    else {
      const turn = this.#wait(owner, wait);
      await (wait.aside?.(turn) ?? turn);
    }
    const since = performance.now();
    try {
      return await held.run(order, work);
    } finally {
      const tookMs = wait.tookMs?.() ?? performance.now() - since;
      this.#giveBack(owner, tookMs * this.#options.rest);
    }
  }

  #take(owner: Owner): void {
    this.#free -= 1;
    owner.held += 1;
    owner.begun += 1;
    this.#toEnd(owner);
  }

  #toEnd(owner: Owner): void {
    this.#owners.delete(owner.name);
    this.#owners.set(owner.name, owner);
  }

  #giveBack(owner: Owner, restMs: number): void {
    const rested = () => {
      owner.held -= 1;
      this.#forget(owner);
      this.#next();
    };
    // In another turn of the event loop, because work without waiting would otherwise block it.
    setImmediate(() => {
      this.#free += 1;
      this.#toEnd(owner);
      if (restMs < 1) return rested();
      setTimeout(rested, restMs).unref();
      this.#next();
    });
  }

  #next(): void {
    for (const owner of this.#owners.values()) {
      if (this.#free === 0) return;
      const line = owner.continuing.size > 0 ? owner.continuing : owner.waiting;
      const [begin] = line;
      if (!begin || owner.held >= this.#options.perOwner) continue;
      line.delete(begin);
      this.#take(owner);
      begin();
    }
  }

  /** Waits until this owner has taken a place. */
  async #wait(owner: Owner, { signal, continues = false }: Wait): Promise<void> {
    const { waitMs, waitingMax } = this.#options;
    if (!continues && owner.waiting.size >= waitingMax) throw this.#refusal(true);
    const line = continues ? owner.continuing : owner.waiting;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { begun } = owner;
    const leave = (reason: unknown) => {
      line.delete(resolve);
      this.#forget(owner);
      reject(reason);
    };
    const giveUp = () => leave(this.#refusal(owner.held > 0 || owner.begun > begun));
    const timer = continues ? undefined : setTimeout(giveUp, waitMs);
    const stop = () => leave(signal!.reason);
    signal?.addEventListener('abort', stop);
    line.add(resolve);
    this.#owners.set(owner.name, owner);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  #refusal(own: boolean): NoPlace {
    this.#refused += 1;
    return new NoPlace(own);
  }

  /** Otherwise the map would keep every owner for ever. */
  #forget(owner: Owner): void {
    if (owner.held === 0 && waitingOf(owner) === 0) this.#owners.delete(owner.name);
  }
}
