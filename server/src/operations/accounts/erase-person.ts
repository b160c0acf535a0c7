import { randomBytes } from 'node:crypto';
import { ApiError } from '../../core/errors.ts';
import { newWebhookSecret } from '../../core/request/webhook.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as erasures from '../../db/accounts/erasures.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as members from '../../db/accounts/members.ts';
import * as people from '../../db/accounts/people.ts';
import { eraseMany, listErased } from '../../db/requests/erased-requests.ts';
import { endOutputs } from '../../db/requests/request-steps.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { codeOf } from '../../lib/unknown.ts';
import type { ActionResult } from '../operator-action.ts';
import { Refusal } from '../refusal.ts';
import { deleteLeaver, lockLeaver, onlyOf } from './manage-person.ts';

/** SQLSTATE of a lock that was not got in time. */
const lockTimeout = '55P03';

/** For accounts that have no other people: their end, or they stay as they are. */
export const accountFates = ['close', 'leave'] as const;
export type AccountFate = (typeof accountFates)[number];

export interface ErasedPerson {
  person_id: string;
  closed: { account_id: string; available_usd_micro: bigint }[];
}

/**
 * Deletes a person, and everything that says who they are: addresses and names, also in the
 * operator's log, and in parts the content of the requests that they sent. Movements, statements,
 * receipts and seals stay. Throws `Refusal` for the last owner of an account, unless `fate` says
 * what becomes of it: a closed account loses its keys, its name and the content of its requests.
 */
export async function erasePerson(
  db: Database,
  { id: person_id }: Pick<people.PersonRow, 'id'>,
  fate: AccountFate | undefined,
): Promise<ActionResult<ErasedPerson>> {
  const { email, account_ids, alone } = await lockLeaver(db, { id: person_id });
  if (alone.length > 0 && fate === undefined)
    throw new Refusal(
      `${email} is the only person of the account ${alone[0]!.email}. Say what becomes of it: close (keys, files and the content of its requests go) or leave (it stays as it is, and nobody can sign in to it).`,
      { reason: 'person_last', email, account: alone[0]!.email },
    );
  const had = await erasures.listAddresses(db, { id: person_id, email });
  const worked = await erasures.listWorked(db, person_id);
  await deleteLeaver(db, person_id);
  const closed = fate === 'close' ? await closeAccounts(db, alone) : [];
  const closedIds = closed.map(({ account_id }) => account_id);
  const rows = worked.map((id) => ({
    person_id,
    account_id: id,
    is_closed: closedIds.includes(id),
  }));
  await erasures.addMany(db, rows);
  await forget(db, person_id, had, { worked, closed: closedIds });
  return {
    answer: { person_id, closed },
    account_id: onlyOf(account_ids),
    target: erasures.erasedAddress(person_id),
    details: { accounts: worked.length, closed: closedIds },
  };
}

/** Throws `capacity_unavailable` if others use the operator's log for too long. */
async function forget(
  db: Database,
  person_id: string,
  had: erasures.ForgottenAddress[],
  accountsOf: { worked: string[]; closed: string[] },
): Promise<void> {
  const forgotten = [...had];
  for (const { id, email, is_renamed } of await erasures.renameAccounts(db, had, accountsOf))
    // The address of an account may be that of somebody else, whose rows say it, too.
    if (is_renamed && !(await people.find(db, email)))
      forgotten.push({
        email,
        erased: erasures.erasedAddress(id),
        account_id: id,
        since: '-infinity',
        until: 'infinity',
        is_first: false,
      });
  await erasures.forgetAddresses(db, forgotten);
  try {
    await erasures.forgetInLogs(db, person_id, forgotten);
  } catch (error) {
    if (codeOf(error) !== lockTimeout) throw error;
    throw new ApiError('capacity_unavailable', {
      message: "The operator's log is in use by others, so nothing was changed. Try again.",
      cause: error,
    });
  }
}

/** Throws `Refusal` if one of them has open requests, which need their input. */
async function closeAccounts(
  db: Database,
  owned: members.OwnedAccount[],
): Promise<ErasedPerson['closed']> {
  const ids = owned.map(({ id }) => id);
  await keys.revokeAll(db, ids);
  const closed: ErasedPerson['closed'] = [];
  for (const { id, email } of owned) {
    const account = (await accounts.find(db, id))!;
    if (await accounts.hasOpenRequests(db, id))
      throw new Refusal(
        `The account ${email} has open requests. Suspend it, and erase the person when they have ended.`,
        { reason: 'requests_open', account: email },
      );
    await accounts.replaceSecrets(db, id, newWebhookSecret(randomBytes));
    closed.push({ account_id: id, available_usd_micro: account.available_usd_micro });
  }
  await erasures.emptyAccounts(db, ids);
  return closed;
}

/**
 * Deletes the content of requests of erased people, as far as these are over, `limit` at a time.
 * Outputs are due to be deleted first; a next call goes on with their requests.
 */
export async function eraseRequests(
  db: Database,
  limit: number,
  isStopping: () => boolean,
): Promise<void> {
  for (const erasure of await erasures.listOpen(db, limit))
    await eraseRequestsOf(db, erasure, limit, isStopping);
}

async function eraseRequestsOf(
  db: Database,
  erasure: erasures.Erasure,
  limit: number,
  isStopping: () => boolean,
): Promise<void> {
  let { after_id } = erasure;
  let is_whole = true;
  let isFull = true;
  while (isFull) {
    if (isStopping()) return;
    const found = await listErased(db, { ...erasure, after_id }, limit);
    const waiting = found.filter(({ is_over }) => !is_over);
    await endOutputs(
      db,
      waiting.map(({ id }) => id),
    );
    await eraseMany(
      db,
      found.filter(({ is_over }) => is_over).map(({ id }) => id),
    );
    isFull = found.length === limit;
    is_whole &&= waiting.length === 0;
    after_id = found.at(-1)?.id ?? after_id;
    // Once one has to wait, a next call begins before it.
    if (is_whole) await erasures.saveProgress(db, { id: erasure.id, after_id, has_ended: !isFull });
  }
}
