/** An amount that many share, such as bytes or places, with a bound for each owner too. */
export interface Budget {
  /** False: there is not enough left, of all or of this owner's share, and nothing was taken. */
  take(owner: string, amount: number): boolean;
  give(owner: string, amount: number): void;
  /** What this owner could still take. */
  left(owner: string): number;
  /** What nobody has taken. */
  free(): number;
  /** What this owner has taken and not given back. */
  held(owner: string): number;
}

/**
 * `ownerMax` null: each owner may hold as much as it leaves to the others, so that however many of
 * them take all they can, something is left for the next.
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
    take(owner, amount) {
      if (amount > leftOf(owner)) return false;
      all += amount;
      owners.set(owner, (owners.get(owner) ?? 0) + amount);
      return true;
    },
    give(owner, amount) {
      const left = (owners.get(owner) ?? 0) - amount;
      all -= amount;
      // Or the map would know every owner there ever was.
      if (left > 0) owners.set(owner, left);
      else owners.delete(owner);
    },
    left: leftOf,
    free: () => max - all,
    held: (owner) => owners.get(owner) ?? 0,
  };
}
