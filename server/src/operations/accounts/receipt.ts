import { billedToOf, buyerText } from '../../core/account/receipt.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as receipts from '../../ledger/receipts.ts';
import type { Database } from '../../lib/sql/sql.ts';

/** The operator's texts of a new receipt. */
export interface Issuer {
  seller: string;
  networks: receipts.Network[];
}

/**
 * The receipt numbers of these transfers of an account, by transfer. A paid deposit gets its number
 * and texts when its receipt is first asked for, so bookings never wait for the counter. Transfers
 * without a receipt are left out.
 */
export async function issueReceipts(
  db: Database,
  account_id: string,
  transferIds: readonly string[],
  issuer: Issuer,
): Promise<Map<string, bigint>> {
  const known = await receipts.numbersOf(db, transferIds);
  const missing = transferIds.filter((id) => !known.has(id));
  if (missing.length === 0) return known;
  const buyer = buyerText(await accounts.findBilled(db, account_id));
  await db.tx(async (tx) => receipts.insertMissing(tx, account_id, missing, { ...issuer, buyer }));
  return new Map([...known, ...(await receipts.numbersOf(db, missing))]);
}

/** Sets further lines about the account for new receipts. Issued receipts stay as they are. */
export async function changeBilledTo(
  db: Database,
  account_id: string,
  given: string,
): Promise<string | null> {
  const billed_to = billedToOf(given);
  await accounts.setBilledTo(db, account_id, billed_to);
  return billed_to;
}

/** The receipt of a deposit, issued at the first call; null if the transfer has no receipt. */
export async function issueReceipt(
  db: Database,
  account_id: string,
  transferId: string,
  issuer: Issuer,
): Promise<receipts.ReceiptRow | null> {
  const known = await receipts.find(db, account_id, transferId);
  if (known) return known;
  await issueReceipts(db, account_id, [transferId], issuer);
  return receipts.find(db, account_id, transferId);
}
