import type { FinalTransfer } from '../../core/deposit/transfer.ts';
import { isDataError, type Database } from '../../lib/sql/sql.ts';
import { codeOf, messageOf } from '../../lib/unknown.ts';
import type { DepositChain } from './deposit-address.ts';
import { recordRead, type ChainRead, type CreditedDeposit } from './record-read.ts';

/** A function or trigger of the database has refused a row. */
const raised = 'P0001';

/**
 * Like `recordRead`, but a deposit that the database refuses does not keep the others out: it is
 * held, and if it cannot be held either, it is left out with the reason. `leaveOut` null: the
 * others are written, and then the error is thrown. `onCredited` gets the deposits of each write,
 * also if a later one fails. Returns false if a newer attempt has begun.
 */
export async function recordApart(
  db: Database,
  live: DepositChain,
  attempt: number,
  read: ChainRead,
  reviewUsdMicro: bigint | null,
  leaveOut: ((why: string) => void) | null,
  onCredited: (credited: CreditedDeposit[]) => void,
): Promise<boolean> {
  const write = async (part: Parameters<typeof recordRead>[3]) => {
    const done = await recordRead(db, live, attempt, part, reviewUsdMicro);
    if (done) onCredited(done.credited);
    return done;
  };
  const whole = await tryWork(() => write(read));
  if (!('refusal' in whole)) return whole.done !== null;
  const refusals: { transfer: FinalTransfer; refusal: unknown }[] = [];
  for (const transfer of read.final) {
    const alone = (final: FinalTransfer) =>
      write({ ...read, final: [final], seen: null, state: null });
    let result = await tryWork(() => alone(transfer));
    if ('refusal' in result)
      result = await tryWork(() => alone({ ...transfer, is_confirmed: false }));
    if ('refusal' in result) refusals.push({ transfer, refusal: result.refusal });
    else if (result.done === null) return false;
  }
  for (const { transfer, refusal } of refusals) {
    if (leaveOut === null) throw refusal;
    leaveOut(`the database refuses the deposit ${transfer.tx_hash}: ${messageOf(refusal)}`);
  }
  const shown = await tryWork(() => write({ ...read, final: [] }));
  const rest = 'refusal' in shown ? await write({ ...read, final: [], seen: null }) : shown.done;
  return rest !== null;
}

async function tryWork<T>(work: () => Promise<T>): Promise<{ done: T } | { refusal: unknown }> {
  try {
    return { done: await work() };
  } catch (refusal) {
    if (isDataError(refusal) || codeOf(refusal) === raised) return { refusal };
    throw refusal;
  }
}
