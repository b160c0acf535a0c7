import { catalogDir } from '../config.ts';
import {
  keySettings,
  noSettings,
  storedSettings,
  type KeyChange,
} from '../core/account/key-settings.ts';
import { nameMax } from '../core/account/name.ts';
import { formatUsd } from '../core/price/money.ts';
import * as keys from '../db/accounts/keys.ts';
import * as s from '../http/schemas/schema.ts';
import { isUuid } from '../lib/id.ts';
import type { Connection, Database } from '../lib/sql/sql.ts';
import { requireAccount } from '../operations/accounts/account.ts';
import { overlapMaxHours, rotateKey } from '../operations/accounts/key-rotation.ts';
import { changeKey, createKey, revokeKey } from '../operations/accounts/key.ts';
import { commandLine, runAction } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { allOrNone, type Line } from './bulk.ts';
import { limitOf, may, ofAccount, operand, orNone, row, says } from './command.ts';
import { accountId, act, withDatabase } from './database.ts';
import {
  countText,
  listOf,
  table,
  type TableColumns,
  type Context,
  type CommandOutput,
} from './output.ts';

const by = { who: 'operator' } as const;

const key_id = operand(s.text());

const limit_usd = says(keySettings.monthly_limit_usd_micro.schema, 'monthly spend limit');
const rpm = says(keySettings.rpm.schema, 'calls a minute');
const open_jobs = says(keySettings.open_jobs.schema, 'open jobs');
const expires = says(
  keySettings.expires_at.schema,
  'the key stops working after this day (UTC), or at this time',
);
const model = says(keySettings.models.schema, 'the only models it may use', 'id');

const newKey = {
  account: s.text('the account of the key', { word: 'email' }),
  name: { ...says(s.line(nameMax), 'a label', 'name'), default: 'default' },
  limit_usd: s.optional(limit_usd),
  rpm: s.optional(rpm),
  open_jobs: s.optional(open_jobs),
  expires: s.optional(expires),
  model: s.optional(model),
};
type NewKey = s.Static<s.TObject<typeof newKey>>;

export const verbs = {
  create: row(
    'make a key and print it, once',
    newKey,
    async (given, context) => {
      if (given.expires !== undefined) demandFuture(given.expires);
      if (given.model !== undefined) await demandKnown(given.model, context);
      const json = await withDatabase(context, async (db) =>
        create(db, given, await requireAccount(db, given.account)),
      );
      const shown = `This is the key of ${json.email}, shown once. Its id is ${json.key_id}.`;
      return { json, text: `${json.key}\n\n${shown}` };
    },
    { many: createMany },
  ),
  list: row(
    'list keys, newest first',
    { account: ofAccount, limit: limitOf(100) },
    async ({ account, limit }, context) => {
      const rows = await withDatabase(context, async (db) =>
        keys.list(db, { account_id: await accountId(db, account), limit }),
      );
      return listOf('key_id', rows, columns);
    },
  ),
  change: row(
    'change the name of a key, its end or its models; "none" removes an end or the list of models',
    {
      key_id,
      name: may(s.line(nameMax), 'a label', 'name'),
      expires: s.optional(orNone(expires)),
      model: s.optional(orNone(model)),
    },
    async ({ key_id, name, expires, model }, context) => {
      if (typeof expires === 'string') demandFuture(expires);
      if (Array.isArray(model)) await demandKnown(model, context);
      const settings = storedSettings({ expires_at: expires, models: model });
      const wanted = { ...(name !== undefined && { name }), ...settings };
      if (Object.keys(wanted).length === 0)
        throw new CommandFailed('Say what to change: --name, --expires or --model.');
      await act(context, 'key.change', async (db) =>
        changeKey(db, by, await need(db, key_id), wanted),
      );
      return { json: { key_id, ...wanted }, text: `${key_id} is changed from the next call on.` };
    },
  ),
  limit: row(
    'change the limits of a key and of keys that its account makes later; "none" removes a limit',
    {
      key_id,
      limit_usd: s.optional(orNone(limit_usd)),
      rpm: s.optional(orNone(rpm)),
      open_jobs: s.optional(orNone(open_jobs)),
    },
    async ({ key_id, limit_usd, ...counts }, context) => {
      const wanted = storedSettings({ ...counts, monthly_limit_usd_micro: limit_usd });
      if (Object.keys(wanted).length === 0)
        throw new CommandFailed('Say what to change: --limit-usd, --rpm or --open-jobs.');
      const { is_studio } = await act(context, 'key.limits', async (db) => {
        const found = await need(db, key_id);
        return { ...(await changeKey(db, by, found, wanted)), answer: found };
      });
      const note = `Keys that the account's people or keys make from now on: ${saidOf(wanted)}.`;
      const text = `The limits of ${key_id} apply from the next call on.`;
      return { json: { key_id, ...wanted }, text, ...(!is_studio && { note }) };
    },
  ),
  rotate: row(
    'give a key a new secret and print it, once; its id and limits stay',
    {
      key_id,
      overlap: s.integer(`how long the former secret works: 0 to ${overlapMaxHours}`, {
        word: 'hours',
        maximum: overlapMaxHours,
        default: 24,
      }),
    },
    async ({ key_id, overlap }, context) => {
      const { key, previous_until } = await act(context, 'key.rotate', async (db) => {
        const { account_id, name: target, last4 } = await need(db, key_id);
        const wanted = { key_id, overlap_hours: overlap };
        const answer = await rotateKey(db, { ...wanted, last4 });
        return { answer, account_id, target, details: wanted };
      });
      const until = previous_until
        ? `The former secret works until ${previous_until.toISOString()}.`
        : 'The former secret is refused from the next call on.';
      const text = `${key}\n\nThis is the new secret of ${key_id}, shown once. ${until}`;
      return { json: { key, key_id, previous_until }, text };
    },
  ),
  revoke: row('refuse a key from the next call on', { key_id }, async ({ key_id }, context) => {
    await act(context, 'key.revoke', async (db) => revokeKey(db, await need(db, key_id, true)));
    const text = `${key_id} is revoked from the next call on.`;
    return { json: { key_id, revoked: true }, text };
  }),
};

function create(
  db: Database,
  { name, limit_usd, expires, model, account: _account, ...counts }: NewKey,
  { id: account_id, email }: { id: string; email: string },
) {
  const written = { monthly_limit_usd_micro: limit_usd, expires_at: expires, models: model };
  const settings = { ...noSettings, ...storedSettings({ ...counts, ...written }) };
  const { expires_at, models, ...limits } = settings;
  const set = { ...limits, expires_at, models };
  return runAction(db, commandLine, 'key.create', async (inner) => {
    const made = await createKey(inner, by, { account_id, name, ...set });
    return { ...made, answer: { ...made.answer, account_id, email, name, ...set } };
  });
}

async function createMany(rows: Line<NewKey>[], context: Context): Promise<CommandOutput> {
  const hasModels = rows.some(({ row }) => row.model !== undefined);
  const known = hasModels ? await knownModels(context) : new Set<string>();
  const find = (db: Database, { account, expires, model = [] }: NewKey) => {
    if (expires !== undefined) demandFuture(expires);
    demandAmong(known, model);
    return requireAccount(db, account);
  };
  const data = await allOrNone(context, rows, find, create);
  const text = table(data, {
    LINE: 'line',
    EMAIL: 'email',
    NAME: 'name',
    'KEY ID': 'key_id',
    KEY: 'key',
  });
  const note = `${countText(data.length, 'key')} made, shown once.`;
  return { json: { data }, text, note };
}

const columns: TableColumns<keys.KeyRow> = {
  'KEY ID': 'id',
  NAME: 'name',
  KEY: ({ prefix, last4 }) => `${prefix}…${last4}`,
  STATUS: 'state',
  SCOPE: 'scope',
  'MADE BY': 'created_by',
  EXPIRES: 'expires_at',
  'OLD SECRET UNTIL': 'previous_until',
  MODELS: ({ models }) => models?.join(' ') ?? 'all',
  'LIMIT USD': 'monthly_limit_usd_micro',
  'SPENT THIS MONTH': 'spent_usd_micro',
  RPM: 'rpm',
  'OPEN JOBS LIMIT': 'open_jobs',
  'OPEN NOW': 'open_requests',
};

function saidOf({ monthly_limit_usd_micro: monthly, rpm, open_jobs }: KeyChange): string {
  const part = (limit: bigint | number | null | undefined, shown: string, of: string) =>
    limit === undefined ? [] : [limit === null ? `no limit on ${of}` : `at most ${shown} ${of}`];
  return [
    ...part(monthly, formatUsd(monthly ?? 0n), 'USD a month'),
    ...part(rpm, String(rpm), 'calls a minute'),
    ...part(open_jobs, String(open_jobs), 'open jobs'),
  ].join(', ');
}

async function need(db: Connection, keyId: string, active = false): Promise<keys.KeyRow> {
  const found = isUuid(keyId) ? await keys.findAny(db, keyId) : null;
  if (found && !(active && found.revoked_at !== null)) return found;
  const kind = active ? 'active key' : 'key';
  throw new CommandFailed(
    `There is no ${kind} with the id ${keyId}. "farebox key list" shows them.`,
  );
}

function demandFuture(time: string): void {
  if (Date.parse(time) > Date.now()) return;
  throw new CommandFailed(`A key must expire in the future, not at ${time}.`);
}

/** Checks the ids, because a key for a mistyped id could not do anything. */
async function demandKnown(ids: string[], context: Context): Promise<void> {
  demandAmong(await knownModels(context), ids);
}

function demandAmong(known: ReadonlySet<string>, ids: string[]): void {
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw new CommandFailed(`The catalog has no model "${unknown}".`);
}

async function knownModels({ config }: Context): Promise<Set<string>> {
  // Loaded only if models are given, because it is five times as much code as the rest of this
  // command.
  const { readFolder, withUpstreams } = await import('./offline-check.ts');
  const { rows } = await withUpstreams(config, (opened) => readFolder(catalogDir(config), opened));
  return new Set(rows.map(({ id }) => id));
}
