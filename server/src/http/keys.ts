import type { TOptional, TUnsafe } from 'typebox';
import {
  keySettings,
  settingNames,
  storedSettings,
  type KeyChange,
  type SettingName,
  type WrittenSettings,
} from '../core/account/key-settings.ts';
import { nameMax } from '../core/account/name.ts';
import { keyScopes } from '../core/account/scope.ts';
import * as keys from '../db/accounts/keys.ts';
import type { Database } from '../lib/sql/sql.ts';
import type { Bounds } from '../operations/accounts/key-rules.ts';
import type { ActionResult } from '../operations/operator-action.ts';
import type { HttpDeps } from './deps.ts';
import * as s from './schemas/schema.ts';
import { badField, endToCome } from './schemas/validate.ts';

/** A key as each caller sees it, and the bodies that make and change one. */

type SettingSchemas = { [Name in SettingName]: TUnsafe<WrittenSettings[Name]> };
type OptionalSettingSchemas = { [Name in SettingName]: TOptional<TUnsafe<WrittenSettings[Name]>> };

function eachSetting<Schemas>(make: (schema: s.TSchema) => s.TSchema): Schemas {
  const made = settingNames.map((name) => [name, make(keySettings[name].schema)]);
  // TypeScript does not follow the names.
  return Object.fromEntries(made) as Schemas;
}

/** Settings in a body: null removes one. */
export const settings = eachSetting<OptionalSettingSchemas>((schema) =>
  s.optional(s.nullable(schema)),
);
/** Settings in a reply, without the bounds of bodies: the command line sets higher limits. */
const shown = eachSetting<SettingSchemas>((schema) => s.nullable(unbounded(schema)));

function unbounded(schema: s.TSchema): s.TSchema {
  const kept = Object.entries(schema).filter(
    ([word, value]) => !/^(min|max)/.test(word) && value !== 'micro_usd',
  );
  return Object.fromEntries(kept);
}

/** The highest limits that the people of an account may give a key without asking the operator. */
export function keyBounds({
  settings: { FAREBOX_RPM, FAREBOX_OPEN_JOBS },
}: Pick<HttpDeps, 'settings'>): Bounds {
  return { rpm: FAREBOX_RPM, open_jobs: FAREBOX_OPEN_JOBS };
}

export const Ceilings = s.namedObject(
  'KeyCeilings',

  {
    monthly_ceiling_usd_micro: s.nullable(s.microUsd()),
    rpm_ceiling: s.nullable(s.integer()),
    open_jobs_ceiling: s.nullable(s.integer()),
  },
  { description: "The operator's limits; people may set lower ones. Null: unlimited." },
);

const parts = {
  key_id: s.id('Its id, which never changes.'),
  name: s.text('Your name for it.'),
  hint: s.text('First and last characters of its secret.'),
  prefix: s.text('First characters of its secret.'),
  last4: s.text('Last characters of its secret.'),
  is_studio: s.boolean('True: people spend with it in the studio, and nobody has its secret.'),
  scope: s.choice(
    keyScopes,
    'spend: it runs models. keys: it manages the keys of scope spend, and nothing else.',
  ),
  state: s.choice(['active', 'expired', 'revoked'], 'Only an active key works.'),
  ...Ceilings.properties,
  spent_usd_micro: s.microUsd('In this month (UTC), reservations included.'),
  month_usd_micro: s.microUsd('Charged and reserved this month (UTC).'),
  reserved_usd_micro: s.microUsd('Held by its open requests.'),
  resets_at: s.time('When the next month begins.'),
  open_requests: s.integer('Its open jobs now.'),
  created_at: s.time('When it was made.'),
  created_by: s.nullable(
    s.id('The key of scope keys that made it. Null: a person or the operator did.'),
  ),
  created_by_name: s.nullable(s.text('Name of the key that made it; null: no key did.')),
  revoked_at: s.nullable(s.time('When it was revoked.')),
  previous_until: s.nullable(
    s.time('The time until which the previous secret (replaced at the last rotation) works.'),
  ),
  last_used_at: s.nullable(s.time('Its newest call.')),
  previous_used_at: s.nullable(
    s.time('When the previous secret (replaced at the last rotation) was last used.'),
  ),
};
type Parts = typeof parts;

const pick = (names: readonly (keyof Parts)[]) =>
  Object.fromEntries(names.map((name) => [name, parts[name]]));

/** A key with these parts; between them, all its settings. */
function viewOf<const Name extends keyof Parts>(
  name: string,
  names: readonly Name[],
  more: readonly Name[],
) {
  // TypeScript does not follow the names.
  return s.namedObject(name, { ...pick(names), ...shown, ...pick(more) }) as s.TObject<
    Pick<Parts, Name> & SettingSchemas
  >;
}

/** A key as a key of scope `keys` sees it. */
export const ApiKey = viewOf(
  'ApiKey',
  ['key_id', 'name', 'hint', 'scope', 'state'],
  [
    ...(['spent_usd_micro', 'reserved_usd_micro', 'resets_at', 'open_requests'] as const),
    ...(['created_at', 'created_by', 'revoked_at', 'last_used_at'] as const),
  ],
);

/** A key as the people of its account see it. */
export const Key = viewOf(
  'Key',
  ['key_id', 'name', 'hint', 'last4', 'is_studio', 'scope', 'state'],
  [
    ...(['monthly_ceiling_usd_micro', 'rpm_ceiling', 'open_jobs_ceiling'] as const),
    ...(['spent_usd_micro', 'reserved_usd_micro', 'resets_at', 'open_requests'] as const),
    ...(['created_at', 'created_by_name', 'revoked_at', 'previous_until'] as const),
    ...(['last_used_at', 'previous_used_at'] as const),
  ],
);

/** A key as an operator sees it. */
export const AccountKey = viewOf(
  'AccountKey',
  ['key_id', 'name', 'prefix', 'last4', 'scope', 'state'],
  [
    ...(['month_usd_micro', 'open_requests', 'created_at', 'created_by'] as const),
    ...(['created_by_name', 'revoked_at'] as const),
  ],
);

/** A new key, with its secret. */
export function withSecret<P extends s.TObject['properties']>(name: string, key: s.TObject<P>) {
  const secret = s.text('The secret, shown only here.');
  return s.namedObject(name, { key: secret, ...key.properties });
}

/** A key with all parts; its schema chooses among them. */
export function view({ id: key_id, month, prefix, ...row }: keys.KeyRow) {
  const [year, monthOfYear] = month.split('-').map(Number);
  const resets_at = new Date(Date.UTC(year!, monthOfYear!));
  const hint = `${prefix}…${row.last4}`;
  return { key_id, hint, prefix, ...row, month_usd_micro: row.spent_usd_micro, resets_at };
}

/** The result of an action with the changed key as its answer, and the secret of a new key. */
export async function withKeyShown<Answer extends { key: string } | void>(
  db: Database,
  key_id: string,
  done: ActionResult<Answer>,
) {
  const shownKey = view((await keys.findAny(db, key_id))!);
  return { ...done, answer: { ...done.answer, ...shownKey } };
}

export const name = s.line(nameMax);
export const NewKeyForm = s.form({ name, ...settings });
export const KeyChangeForm = s.form({ name: s.optional(name), ...settings });

/** The settings that a body gives, for a new key or for `now`. */
export function settingsOf(
  given: s.Static<typeof KeyChangeForm>,
  now: keys.KeyRow | null,
  { catalog }: Pick<HttpDeps, 'catalog'>,
): KeyChange {
  endToCome(given.expires_at);
  const known = catalog().models;
  // A model that the key is allowed already may be away for a while.
  for (const [i, model] of (given.models ?? []).entries())
    if (!known.has(model) && !now?.models?.includes(model))
      throw badField(`models[${i}]`, 'the id of a model, as GET /v1/models lists it', {
        reason: 'model_unknown',
        model,
      });
  return storedSettings(given);
}

/** The change that a body asks for: a field that is left out stays, null removes a setting. */
export function changeOf(
  body: s.Static<typeof KeyChangeForm>,
  now: keys.KeyRow,
  deps: Pick<HttpDeps, 'catalog'>,
): KeyChange & { name?: string } {
  const { name: given } = body;
  return { ...settingsOf(body, now, deps), ...(given !== undefined && { name: given }) };
}
