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

/**
 * The seller on a receipt: the operator's name, or the host of the pages if no name is set, and the
 * operator's own lines.
 */
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
  // If the owner's email address belongs to another account, this account has a made-up address.
  const shown = email.endsWith('.invalid') && name !== null ? null : email;
  return textOf([name, shown, billed_to]);
}

/** An account's own lines for its receipts, without invisible characters; null if none are left. */
export function billedToOf(given: string): string | null {
  const lines = given.split(/\r?\n/).map((line) => line.replace(new RegExp(unseen, 'gu'), ''));
  return textOf(lines) || null;
}

/** The given parts, one per line, without repetitions. */
function textOf(parts: (string | null)[]): string {
  const given = parts.flatMap((part) => part?.trim() || []);
  return [...new Set(given)].join('\n');
}
