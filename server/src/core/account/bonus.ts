/**
 * Spends bonuses with an end before other money. `bonuses` must be in the order of their ends, the
 * earliest first. Returns them with what is left after `spent`; other money pays what they do not
 * cover.
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
