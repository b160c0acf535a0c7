import { formatUsd } from '../core/money.ts';
import * as keys from '../db/keys.ts';
import { isUuid } from '../lib/id.ts';
import { needAccount, Refused } from '../operations/account.ts';
import { createKey } from '../operations/key.ts';
import { usd } from './account.ts';
import { print, table, withDatabase, type Context } from './output.ts';

interface CreateOptions {
  account: string;
  name: string;
  limitUsd?: string;
  rpm?: number;
  openJobs?: number;
}

export async function create(context: Context, options: CreateOptions): Promise<void> {
  const limits = {
    monthly_limit_usd_micro: options.limitUsd === undefined ? null : usd(options.limitUsd),
    rpm: options.rpm ?? null,
    open_jobs: options.openJobs ?? null,
  };
  const shown = await withDatabase(context, async (db) => {
    const { id: account_id, email } = await needAccount(db, options.account);
    const { key, key_id } = await createKey(db, { account_id, name: options.name, ...limits });
    return { key, key_id, account_id, email, name: options.name, ...limits };
  });
  print(
    context,
    shown,
    `${shown.key}\n\nThis is the key of ${shown.email}, shown once. Its id is ${shown.key_id}.`,
  );
}

const keyHead = [
  'KEY ID',
  'NAME',
  'KEY',
  'STATUS',
  'LIMIT USD',
  'SPENT THIS MONTH',
  'RPM',
  'OPEN JOBS LIMIT',
  'OPEN NOW',
];

export async function list(context: Context, options: { account?: string }): Promise<void> {
  const rows = await withDatabase(context, async (db) => {
    const account =
      options.account === undefined ? null : (await needAccount(db, options.account)).id;
    return keys.list(db, account);
  });
  const data = rows.map(({ id: key_id, ...row }) => ({ key_id, ...row }));
  const cells = rows.map((row) => [
    row.id,
    row.name,
    `${row.prefix}…${row.last4}`,
    row.revoked_at ? 'revoked' : 'active',
    row.monthly_limit_usd_micro === null ? '-' : formatUsd(row.monthly_limit_usd_micro),
    formatUsd(row.spent_usd_micro),
    row.rpm === null ? '-' : String(row.rpm),
    row.open_jobs === null ? '-' : String(row.open_jobs),
    String(row.open_requests),
  ]);
  print(context, { data }, table(keyHead, cells));
}

export async function limit(
  context: Context,
  keyId: string,
  options: { limitUsd?: string; rpm?: string; openJobs?: string },
): Promise<void> {
  const limits = {
    monthly_limit_usd_micro: given(options.limitUsd, usd),
    rpm: given(options.rpm, whole),
    open_jobs: given(options.openJobs, whole),
  };
  if (Object.values(limits).every((limit) => limit === undefined)) {
    throw new Refused('Say what to change: --limit-usd, --rpm or --open-jobs.');
  }
  const done = isUuid(keyId)
    ? await withDatabase(context, (db) => keys.setLimits(db, keyId, limits))
    : null;
  if (done === null)
    throw new Refused(`There is no key with the id ${keyId}. "farebox key list" shows them.`);
  if (done === 'revoked')
    throw new Refused(
      `${keyId} is revoked: no call is made with it, so that it has no limits to change.`,
    );
  print(
    context,
    { key_id: keyId, ...limits },
    `The limits of ${keyId} hold from the next call on.`,
  );
}

export async function revoke(context: Context, keyId: string): Promise<void> {
  const revoked = isUuid(keyId) && (await withDatabase(context, (db) => keys.revoke(db, keyId)));
  if (!revoked)
    throw new Refused(
      `There is no living key with the id ${keyId}. "farebox key list" shows them.`,
    );
  print(context, { key_id: keyId, revoked: true }, `${keyId} is revoked from the next call on.`);
}

/** Undefined: not touched; "none": taken away. */
function given<T>(text: string | undefined, read: (text: string) => T): T | null | undefined {
  return text === undefined ? undefined : text === 'none' ? null : read(text);
}

function whole(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Refused(`"${text}" is no whole number above 0.`);
  return Number(text);
}
