import { Type, type Static, type TSchema } from 'typebox';
import { keysOf } from '../../lib/records.ts';
import { microUsdPattern } from '../price/money.ts';

/** The settings of a key. Bodies, views, columns and rules of keys are made from this list. */

/** A setting is a column of the table `keys`, null if it is not set. */
interface Setting<Wire extends TSchema, Stored> {
  /** The value in a body or a reply; a body keeps to its bounds. */
  schema: Wire;
  /** The value of the column for a value of a body. */
  stored(value: Static<Wire>): Stored;
  /** A key that manages keys cannot have it, because it runs no models. */
  notOnManagingKey?: true;
  /** The studio's key cannot have it, because people spend with it unseen. */
  notOnStudioKey?: true;
}

function setting<Wire extends TSchema, Stored>(
  schema: Wire,
  stored: (value: Static<Wire>) => Stored,
  not: Pick<Setting<Wire, Stored>, 'notOnManagingKey' | 'notOnStudioKey'> = {},
): Setting<Wire, Stored> {
  return { schema, stored, ...not };
}

const count = (description: string) =>
  Type.Integer({ description, minimum: 1, maximum: 1_000_000 });
const same = <Value>(value: Value) => value;

export const keySettings = {
  monthly_limit_usd_micro: setting(
    Type.String({
      description: 'The most that it may charge and reserve in a month (UTC). Null: unlimited.',
      pattern: microUsdPattern,
      format: 'micro_usd',
      example: '39000',
    }),
    (text) => BigInt(text),
    { notOnManagingKey: true },
  ),
  expires_at: setting(
    Type.String({
      description: 'When it stops working. Null: never.',
      format: 'date-time',
      example: '2026-03-01T12:00:00.000Z',
    }),
    (text) => new Date(text),
    { notOnStudioKey: true },
  ),
  models: setting(
    Type.Array(Type.String(), {
      description: 'The only models that it may use. Null: all.',
      minItems: 1,
      maxItems: 200,
    }),
    (ids) => [...new Set(ids)],
    { notOnManagingKey: true, notOnStudioKey: true },
  ),
  rpm: setting(count("Calls a minute. Null: the service's usual limit."), same),
  open_jobs: setting(count("Open jobs at once. Null: the service's usual limit."), same, {
    notOnManagingKey: true,
  }),
};

type Settings = typeof keySettings;
export type SettingName = keyof Settings;
/** The settings of a key as its row has them. */
export type KeySettings = { [Name in SettingName]: ReturnType<Settings[Name]['stored']> | null };
/** Settings to change: a setting that is left out stays, and null removes it. */
export type KeyChange = Partial<KeySettings>;

/** Settings as bodies and replies have them. */
export type WrittenSettings = {
  [Name in SettingName]: Static<Settings[Name]['schema']> | null;
};

export const settingNames = keysOf(keySettings);
/** A key without limits. */
export const noSettings = Object.fromEntries(settingNames.map((name) => [name, null])) as Record<
  SettingName,
  null
>;

/** The settings of a body as the row has them. */
export function storedSettings(written: Partial<WrittenSettings>): KeyChange {
  const read = (name: SettingName) => {
    const about: Setting<TSchema, unknown> = keySettings[name];
    return written[name] === null ? null : about.stored(written[name]);
  };
  const given = settingNames.filter((name) => written[name] !== undefined);
  // TypeScript does not follow the names.
  return Object.fromEntries(given.map((name) => [name, read(name)])) as KeyChange;
}

/** The limits that an operator can put a ceiling on, with the column of the ceiling. */
export const ceilingOf = {
  monthly_limit_usd_micro: 'monthly_ceiling_usd_micro',
  rpm: 'rpm_ceiling',
  open_jobs: 'open_jobs_ceiling',
} as const;
type BoundedSetting = keyof typeof ceilingOf;
export const boundedSettings = keysOf(ceilingOf);

/**
 * Ceilings set by an operator. The account's people may set lower limits, but can neither raise nor
 * remove a ceiling. Null: none.
 */
export type Ceilings = { [Name in BoundedSetting as (typeof ceilingOf)[Name]]: KeySettings[Name] };

/** The ceilings that equal the given limits; a limit that is left out has none here. */
export function ceilingsFrom(limits: KeyChange): Partial<Ceilings> {
  const given = boundedSettings.filter((name) => limits[name] !== undefined);
  return Object.fromEntries(given.map((name) => [ceilingOf[name], limits[name]]));
}

export const noCeilings = ceilingsFrom(noSettings) as Ceilings;

/** The limits that equal the given ceilings. */
export function limitsFrom(set: Ceilings) {
  const limits = boundedSettings.map((name) => [name, set[ceilingOf[name]]]);
  // TypeScript does not follow the names.
  return Object.fromEntries(limits) as Pick<KeySettings, BoundedSetting>;
}

/** The first of these settings that keys of this kind cannot have. */
export function unfittingSetting(
  kind: 'notOnManagingKey' | 'notOnStudioKey',
  given: readonly SettingName[],
): SettingName | undefined {
  return given.find((name) => {
    const about: Setting<TSchema, unknown> = keySettings[name];
    return about[kind] === true;
  });
}
