import { formatUsd } from '../../src/core/price/money.ts';
import type { Outcome } from './world.ts';

/**
 * The outcomes that are faults: the vendor takes more than the caller is charged, and the row does
 * not say so; or the request ended in a way to which the abuse does not lead.
 */
export function faultsIn(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.filter(({ row, abuse, status, charged, billed, cancelled }) => {
    if (abuse.course === 'timed out' && status === 'FAILED')
      // The reservation is released although the job costs money, so the job must be cancelled if
      // it can be.
      return charged > 0n || cancelled === false;
    if (status === 'refused') return !abuse.refusable;
    if (row.cost_may_exceed !== null) return false;
    return (billed ?? 0n) > charged;
  });
}

/**
 * The results as a table: row and abuse, charge, the vendor's bill, and their ratio.
 */
export function tableOf(outcomes: readonly Outcome[]): string {
  const lines = outcomes.map(({ row, abuse, status, charged, billed, booked }) => [
    row.id,
    abuse.name,
    status,
    formatUsd(charged),
    billed === null ? '-' : formatUsd(billed),
    booked === null ? '-' : formatUsd(booked),
    ratioOf(charged, billed),
  ]);
  const head = ['row', 'abuse', 'end', 'charge', 'cost', 'booked cost', 'charge / cost'];
  const all = [head, ...lines];
  const widths = head.map((_, at) => Math.max(...all.map((line) => line[at]!.length)));
  return all
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function ratioOf(charged: bigint, billed: bigint | null): string {
  return billed === null || billed === 0n ? '-' : (Number(charged) / Number(billed)).toFixed(2);
}
