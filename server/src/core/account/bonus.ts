/**
 * Spends bonuses that have an end; other money pays only what they do not cover. `bonuses` must be
 * in the order of their ends, the earliest first. Returns them with what is left after `spent`.
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
