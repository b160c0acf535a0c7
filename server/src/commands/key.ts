import { catalogDir } from '../config.ts';
import { formatUsd } from '../core/price/money.ts';
import * as keys from '../db/accounts/keys.ts';
import { isUuid } from '../lib/id.ts';
import type { Database } from '../lib/sql/sql.ts';
import { needAccount } from '../operations/accounts/account.ts';
import { CommandFailed } from '../operations/refused.ts';
import type { KeyChange } from '../core/account/key-settings.ts';
import { changeKey, createKey, revokeKey } from '../operations/accounts/key.ts';
import { rotateKey } from '../operations/accounts/key-rotation.ts';
import { commandLine, runAction } from '../operations/operator-action.ts';
import { usd } from './account.ts';
import { momentOf } from './moment.ts';
import { print, table, withDatabase, type Context } from './output.ts';

const by = { who: 'operator' } as const;

interface CreateOptions {
  account: string;
  name: string;
  limitUsd?: string;
  rpm?: number;
  openJobs?: number;
  expires?: string;
  model?: string[];
}

export async function create(context: Context, options: CreateOptions): Promise<void> {
  const limits = {
    monthly_limit_usd_micro: options.limitUsd === undefined ? null : usd(options.limitUsd),
    rpm: options.rpm ?? null,
    open_jobs: options.openJobs ?? null,
    expires_at: options.expires === undefined ? null : later(options.expires),
    models: options.model === undefined ? null : await knownModels(context, options.model),
  };
  const shown = await withDatabase(context, async (db) => {
    const { id: account_id, email } = await needAccount(db, options.account);
    const wanted = { account_id, name: options.name, ...limits };
    const { key, key_id } = await runAction(db, commandLine, 'key.create', (inside) =>
      createKey(inside, by, wanted),
    );
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
  'SCOPE',
  'MADE BY',
  'EXPIRES',
  'OLD SECRET UNTIL',
  'MODELS',
  'LIMIT USD',
  'SPENT THIS MONTH',
  'RPM',
  'OPEN JOBS LIMIT',
  'OPEN NOW',
];

export async function list(
  context: Context,
  options: { account?: string; limit: number },
): Promise<void> {
  const rows = await withDatabase(context, async (db) => {
    const { account, limit } = options;
    const account_id = account === undefined ? null : (await needAccount(db, account)).id;
    return keys.list(db, { account_id, limit });
  });
  const data = rows.map(({ id: key_id, ...row }) => ({ key_id, ...row }));
  const cells = rows.map((row) => [
    row.id,
    row.name,
    `${row.prefix}…${row.last4}`,
    row.state,
    row.scope,
    row.created_by ?? '-',
    row.expires_at?.toISOString() ?? '-',
    row.previous_until?.toISOString() ?? '-',
    row.models === null ? 'all' : row.models.join(' '),
    row.monthly_limit_usd_micro === null ? '-' : formatUsd(row.monthly_limit_usd_micro),
    formatUsd(row.spent_usd_micro),
    row.rpm === null ? '-' : String(row.rpm),
    row.open_jobs === null ? '-' : String(row.open_jobs),
    String(row.open_requests),
  ]);
  print(context, { data }, table(keyHead, cells));
}

export async function rotate(
  context: Context,
  keyId: string,
  options: { overlap: string },
): Promise<void> {
  const overlap_hours = /^\d{1,3}$/.test(options.overlap) ? Number(options.overlap) : NaN;
  const { key, previous_until } = await withDatabase(context, async (db) => {
    const found = await need(db, keyId);
    return runAction(db, commandLine, 'key.rotate', (inside) =>
      rotated(inside, found, overlap_hours),
    );
  });
  const until = previous_until
    ? `The former secret works until ${previous_until.toISOString()}.`
    : 'The former secret is refused from the next call on.';
  print(
    context,
    { key, key_id: keyId, previous_until },
    `${key}\n\nThis is the new secret of ${keyId}, shown once. ${until}`,
  );
}

async function rotated(db: Database, key: keys.KeyRow, overlap_hours: number) {
  const { id: key_id, account_id, name: target, last4 } = key;
  const answer = await rotateKey(db, { key_id, last4, overlap_hours });
  return { answer, account_id, target, details: { key_id, overlap_hours } };
}

export async function limit(
  context: Context,
  keyId: string,
  options: { limitUsd?: string; rpm?: string; openJobs?: string },
): Promise<void> {
  const limits = {
    monthly_limit_usd_micro: given(options.limitUsd, usd),
    rpm: given(options.rpm, wholeNumber),
    open_jobs: given(options.openJobs, wholeNumber),
  };
  if (Object.values(limits).every((limit) => limit === undefined)) {
    throw new CommandFailed('Say what to change: --limit-usd, --rpm or --open-jobs.');
  }
  const { is_studio } = await withDatabase(context, async (db) => {
    const found = await need(db, keyId);
    await runAction(db, commandLine, 'key.limits', (inside) =>
      changeKey(inside, by, found, limits),
    );
    return found;
  });
  print(
    context,
    { key_id: keyId, ...limits },
    `The limits of ${keyId} apply from the next call on.`,
  );
  if (!context.json && !is_studio)
    context.err(`Keys that the account's people or keys make from now on: ${saidOf(limits)}.`);
}

function saidOf({ monthly_limit_usd_micro: monthly, rpm, open_jobs }: KeyChange): string {
  const part = (limit: bigint | number | null | undefined, shown: string, of: string) =>
    limit === undefined ? [] : [limit === null ? `no limit on ${of}` : `at most ${shown} ${of}`];
  return [
    ...part(monthly, formatUsd(monthly ?? 0n), 'USD a month'),
    ...part(rpm, String(rpm), 'calls a minute'),
    ...part(open_jobs, String(open_jobs), 'open jobs'),
  ].join(', ');
}

export async function revoke(context: Context, keyId: string): Promise<void> {
  await withDatabase(context, async (db) => {
    const found = await find(db, keyId);
    if (!found || found.revoked_at !== null)
      throw new CommandFailed(
        `There is no active key with the id ${keyId}. "farebox key list" shows them.`,
      );
    await runAction(db, commandLine, 'key.revoke', (inside) => revokeKey(inside, found));
  });
  print(context, { key_id: keyId, revoked: true }, `${keyId} is revoked from the next call on.`);
}

async function find(db: Database, keyId: string): Promise<keys.KeyRow | null> {
  return isUuid(keyId) ? keys.findAny(db, keyId) : null;
}

async function need(db: Database, keyId: string): Promise<keys.KeyRow> {
  const found = await find(db, keyId);
  if (found) return found;
  throw new CommandFailed(`There is no key with the id ${keyId}. "farebox key list" shows them.`);
}

/** Undefined means no change; null, for the text "none", means no limit. */
function given<T>(text: string | undefined, read: (text: string) => T): T | null | undefined {
  return text === undefined ? undefined : text === 'none' ? null : read(text);
}

/** A future time, or the end (UTC) of a day. */
function later(text: string): Date {
  const at = momentOf(text);
  if (at !== null && at.getTime() > Date.now()) return at;
  throw new CommandFailed(
    `"${text}" is not a future day, such as 2030-12-31, or a future time in ISO 8601 with a time zone.`,
  );
}

/** Checks the ids, because a key for a mistyped id could not do anything. */
async function knownModels({ config }: Context, ids: string[]): Promise<string[]> {
  // Loaded only if models are given, because it is five times as much code as the rest of this
  // command.
  const { readFolder, withUpstreams } = await import('./offline-check.ts');
  const { rows } = await withUpstreams(config, (opened) => readFolder(catalogDir(config), opened));
  const known = new Set(rows.map(({ id }) => id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw new CommandFailed(`The catalog has no model "${unknown}".`);
  return [...new Set(ids)];
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new CommandFailed(`"${text}" is not a whole number above 0.`);
  return Number(text);
}
