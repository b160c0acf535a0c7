/**
 * Bonuses with an end are spent before other money, the one that ends first before the others.
 * Returns the bonuses, in that order, after this much was spent; what they do not cover was paid
 * by other money.
 */
export function spendBonuses<Bonus extends { left: bigint }>(
  bonuses: readonly Bonus[],
  spent: bigint,
): Bonus[] {
  let rest = spent;
  return bonuses.map((bonus) => {
    const taken = bonus.left < rest ? bonus.left : rest;
    rest -= taken;
    return { ...bonus, left: bonus.left - taken };
  });
}
