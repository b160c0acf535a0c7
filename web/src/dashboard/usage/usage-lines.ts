import { formatUsd } from '../../../../client/src/money.ts';
import type { UsageLine } from '../../api-types.ts';
import { dayMs } from '../../components/date/days.ts';

/** Sums of usage with those of the same number of days before. */

/** So many UTC days with today, and as many before; each ends before its `to`. */
export function daysOf(count: number, now: number): { from: string; to: string; before: string } {
  const text = (days: number) => new Date(now + days * dayMs).toISOString().slice(0, 10);
  return { from: text(1 - count), to: text(1), before: text(1 - 2 * count) };
}

export interface Sum {
  /** The value of the group; null: requests without one. */
  value: string | null;
  requests: number;
  failed: number;
  tokens: number;
  charged: bigint;
  before: bigint;
}

export function valueOf(line: UsageLine, by: string, name: string): string | null {
  const fields: Record<string, string | null> = {
    model: line.model_id,
    key: line.key_id,
    person: line.person_id,
    day: line.day,
    metadata: line.metadata[name] ?? null,
  };
  return fields[by] ?? null;
}

/** The lines of both periods side by side, the most expensive first; days in their order. */
export function sumsOf(now: UsageLine[], before: UsageLine[], by: string, name: string): Sum[] {
  const earlier = new Map(
    before.map((line) => [valueOf(line, by, name), BigInt(line.charged_usd_micro)]),
  );
  const shown = now.map((line) => ({
    value: valueOf(line, by, name),
    requests: line.requests,
    failed: line.failed,
    tokens: line.input_tokens + line.output_tokens,
    charged: BigInt(line.charged_usd_micro),
    before: earlier.get(valueOf(line, by, name)) ?? 0n,
  }));
  const known = new Set(shown.map(({ value }) => value));
  const gone = by === 'day' ? [] : [...earlier].filter(([value]) => !known.has(value));
  const all = [
    ...shown,
    ...gone.map(([value, charged]) => ({
      value,
      requests: 0,
      failed: 0,
      tokens: 0,
      charged: 0n,
      before: charged,
    })),
  ];
  if (by === 'day') return all.toSorted((a, b) => (a.value! < b.value! ? 1 : -1));
  return all.toSorted((a, b) => Number(b.charged - a.charged) || Number(b.before - a.before));
}

/** An exact amount in dollars for a program: no sign of a currency, no separators. */
export function dollars(micro: bigint): string {
  return formatUsd(micro).replace('$', '');
}

const decimal = /^-?\d+(\.\d+)?$/;
/** The beginning of a formula, as in the service's own files: after what spreadsheets strip, too. */
const formula = /^[\s\0]*[=+\-@\t\r\n|%＝＋－＠]/u;

/** The lines as a file for spreadsheets; a text never becomes a formula. */
export function csvOf(head: string[], rows: string[][]): string {
  const safe = (cell: string) => (formula.test(cell) && !decimal.test(cell) ? `'${cell}` : cell);
  const quoted = (cell: string) =>
    /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  return [head, ...rows]
    .map((row) => `${row.map((each) => quoted(safe(each))).join(',')}\r\n`)
    .join('');
}
