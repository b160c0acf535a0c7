/** A shared amount, such as bytes or slots, with a limit for each owner too. */
export interface Budget {
  readonly max: number;
  /** Returns false and takes nothing if too little is left, in total or of the owner's share. */
  take(owner: string, amount: number): boolean;
  give(owner: string, amount: number): void;
  /** Amount that this owner could still take. */
  leftFor(owner: string): number;
  /** Amount that is not taken. */
  free(): number;
  /** Amount that this owner has taken and not given back. */
  takenBy(owner: string): number;
}

/** The part of its owner's share that one work holds; `release` gives all of it back. */
export interface Holding {
  take(amount: number): boolean;
  amount(): number;
  release(): void;
}

export function openHolding(budget: Budget, owner: string): Holding {
  let held = 0;
  return {
    take(amount) {
      if (!budget.take(owner, amount)) return false;
      held += amount;
      return true;
    },
    amount: () => held,
    release() {
      budget.give(owner, held);
      held = 0;
    },
  };
}

/**
 * If `ownerMax` is null, an owner may hold at most as much as it leaves free. So however many
 * owners take as much as they may, something is left for the next.
 */
export function createBudget(max: number, ownerMax: number | null): Budget {
  const owners = new Map<string, number>();
  const leftOf = (owner: string) => {
    const held = owners.get(owner) ?? 0;
    const free = max - all;
    return Math.min(free, ownerMax === null ? Math.ceil((free - held) / 2) : ownerMax - held);
  };
  let all = 0;
  return {
    max,
    take(owner, amount) {
      if (amount > leftOf(owner)) return false;
      all += amount;
      owners.set(owner, (owners.get(owner) ?? 0) + amount);
      return true;
    },
    give(owner, amount) {
      const left = (owners.get(owner) ?? 0) - amount;
      all -= amount;
      // Otherwise the map would keep every owner for ever.
      if (left > 0) owners.set(owner, left);
      else owners.delete(owner);
    },
    leftFor: leftOf,
    free: () => max - all,
    takenBy: (owner) => owners.get(owner) ?? 0,
  };
}
