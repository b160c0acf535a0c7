import type { ShownSetting } from './http/deps.ts';
import { chainSettings, settings, type Config, type Setting } from './config.ts';

/** The settings as the operator sees them: their values, but for secrets, and their sources. */

export function shownSettings(config: Config): ShownSetting[] {
  const own = Object.entries(settings).map(([name, setting]: [string, Setting<unknown>]) =>
    shown(name, setting, config),
  );
  const ofChains = [...config.given.keys()].filter((name) => !(name in settings));
  return [...own, ...ofChains.toSorted().map((name) => shown(name, chainSetting(name), config))];
}

/** The row of a setting that has the name of a chain in it. */
function chainSetting(name: string): Setting<unknown> {
  const [ofAddress, ofKey] = Object.values(chainSettings);
  return name.endsWith('_KEY') ? ofKey! : ofAddress!;
}

function shown(name: string, { secret, says }: Setting<unknown>, config: Config) {
  const given = config.given.get(name);
  // The way in which the service was started may have replaced a default.
  const used = Object.entries(config).find(([each]) => each === name)?.[1];
  const set = given !== undefined || (used !== null && used !== undefined);
  const value = secret === true || !set ? null : (given?.text ?? textOf(used));
  return {
    name,
    value,
    from: given?.from ?? ('default' as const),
    secret: secret === true,
    set,
    says,
  };
}

/** A value as an operator would write it. */
function textOf(value: unknown): string {
  if (value === true) return 'on';
  if (value === false) return 'off';
  return Array.isArray(value) ? value.join(', ') : String(value);
}
