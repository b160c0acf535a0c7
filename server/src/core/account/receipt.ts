import { unseen } from './name.ts';
import type { Source } from './source.ts';

/** Receipts for money that was paid in. */

/**
 * Whether a deposit has a receipt: only if the money was paid to the operator of the service. A
 * voucher was paid, or given, somewhere else; a bonus and a refund were not paid.
 */
export function hasReceipt(source: Source | null): boolean {
  return source === 'paid' || source === 'chain';
}

/** The number as people read it, such as `R-000123`. */
export function receiptNumber(number: bigint): string {
  return `R-${String(number).padStart(6, '0')}`;
}

/** The operator, as receipts name them; without a name, by the host of the pages. */
export function sellerText(name: string | null, text: string | null, host: string): string {
  return textOf([name ?? host, text]);
}

/** The account, as receipts name it. */
export function buyerText(account: {
  name: string | null;
  email: string;
  billed_to: string | null;
}): string {
  const { name, email, billed_to } = account;
  // An account whose owner's address belongs to another account has a made-up one.
  const shown = email.endsWith('.invalid') && name !== null ? null : email;
  return textOf([name, shown, billed_to]);
}

/** The lines that an account wants on its receipts, without invisible characters; null: none. */
export function billedToOf(given: string): string | null {
  const lines = given.split(/\r?\n/).map((line) => line.replace(new RegExp(unseen, 'gu'), ''));
  return textOf(lines) || null;
}

/** The parts that are there, each once. */
function textOf(parts: (string | null)[]): string {
  const given = parts.flatMap((part) => part?.trim() || []);
  return [...new Set(given)].join('\n');
}
