import { AsyncLocalStorage } from 'node:async_hooks';
import type { Countdown } from './bounded.ts';

export interface FairQueueOptions {
  /**
   * A task that runs may wait only for queues with a higher number, so that no tasks wait for each
   * other for ever.
   */
  order: number;
  /** Tasks that run at the same time. */
  capacity: number;
  /** Tasks of one owner that run at the same time, at most. */
  perOwner: number;
  waitMs: number;
  /** Tasks of one owner that wait, to limit the memory. Beyond it `NoCapacity` comes at once. */
  waitingMax?: number;
  /**
   * After a task, its owner's share stays taken for this many times the task's duration, while
   * others use the capacity. So with 1, an owner gets at most half of the time.
   */
  cooldownFactor?: number;
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
  /** The duration that the cooldown counts, if it is not all the time that the task ran. */
  tookMs?: () => number;
}

/** The highest order of the queues in which the current task runs. */
const heldOrder = new AsyncLocalStorage<number>();

/** A task waited too long, or too many tasks of its owner wait already. */
export class NoCapacity extends Error {
  /** True if other tasks of the owner were in the way; false if others used all capacity. */
  readonly own: boolean;
  constructor(own: boolean) {
    super(own ? 'the owner has used its share' : 'others use all capacity');
    this.name = 'NoCapacity';
    this.own = own;
  }
}

interface Owner {
  name: string;
  /** Its tasks that run or cool down. */
  held: number;
  /** Its tasks that have begun. */
  begun: number;
  /** Begins the tasks that wait, oldest first: those that continue others, and new ones. */
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

/** Runs tasks of owners in turns. A task that finds no free capacity waits. */
export class FairQueue {
  readonly #options: Required<FairQueueOptions>;
  /** Those with tasks. An owner moves to the end when a task begins or ends. */
  readonly #owners = new Map<string, Owner>();
  #free: number;
  #refused = 0;

  constructor(options: FairQueueOptions) {
    this.#options = { waitingMax: 1_000, cooldownFactor: 0, ...options };
    this.#free = options.capacity;
  }

  /** Tasks that run, that wait, and that were refused so far. */
  stats(): { running: number; waiting: number; refused: number } {
    const waiting = [...this.#owners.values()].reduce((sum, owner) => sum + waitingOf(owner), 0);
    return { running: this.#options.capacity - this.#free, waiting, refused: this.#refused };
  }

  /**
   * Runs `work` as soon as its owner's turn comes. Rejects with `NoCapacity` after `waitMs`, and
   * with the signal's reason if the signal fires before the work has begun.
   */
  async run<T>(name: string, work: () => T | Promise<T>, wait: Wait = {}): Promise<T> {
    const { order, perOwner } = this.#options;
    if ((heldOrder.getStore() ?? -Infinity) >= order)
      throw new Error('a task that runs waits for another one, perhaps for ever');
    wait.signal?.throwIfAborted();
    const owner = this.#owners.get(name) ?? newOwner(name);
    if (this.#free > 0 && owner.held < perOwner) this.#take(owner);
    else {
      const turn = this.#wait(owner, wait);
      await (wait.aside?.(turn) ?? turn);
    }
    const since = performance.now();
    try {
      return await heldOrder.run(order, work);
    } finally {
      const tookMs = wait.tookMs?.() ?? performance.now() - since;
      this.#giveBack(owner, tookMs * this.#options.cooldownFactor);
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

  #giveBack(owner: Owner, cooldownMs: number): void {
    const endCooldown = () => {
      owner.held -= 1;
      this.#forget(owner);
      this.#beginNext();
    };
    // In another turn of the event loop, because work without waiting would otherwise block it.
    setImmediate(() => {
      this.#free += 1;
      this.#toEnd(owner);
      if (cooldownMs < 1) return endCooldown();
      setTimeout(endCooldown, cooldownMs).unref();
      this.#beginNext();
    });
  }

  #beginNext(): void {
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

  /** Waits until it is this owner's turn. */
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

  #refusal(own: boolean): NoCapacity {
    this.#refused += 1;
    return new NoCapacity(own);
  }

  /** Otherwise the map would keep every owner for ever. */
  #forget(owner: Owner): void {
    if (owner.held === 0 && waitingOf(owner) === 0) this.#owners.delete(owner.name);
  }
}
