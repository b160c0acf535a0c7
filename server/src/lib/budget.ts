/** An amount that many share, such as bytes or places, with a bound for each owner too. */
export interface Budget {
  /** False: there is not enough left, of all or of this owner's share, and nothing was taken. */
  take(owner: string, amount: number): boolean;
  give(owner: string, amount: number): void;
}

export function createBudget(max: number, ownerMax: number): Budget {
  const owners = new Map<string, number>();
  let all = 0;
  return {
    take(owner, amount) {
      const held = owners.get(owner) ?? 0;
      if (all + amount > max || held + amount > ownerMax) return false;
      all += amount;
      owners.set(owner, held + amount);
      return true;
    },
    give(owner, amount) {
      const left = (owners.get(owner) ?? 0) - amount;
      all -= amount;
      // Or the map would know every owner there ever was.
      if (left > 0) owners.set(owner, left);
      else owners.delete(owner);
    },
  };
}
