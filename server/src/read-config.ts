import { readFileSync } from 'node:fs';
import {
  chainSettings,
  ConfigError,
  files,
  settings,
  type Config,
  type GivenSetting,
  type Setting,
} from './config.ts';
import { hideInLogs } from './lib/log.ts';
import { messageOf } from './lib/unknown.ts';
import { brokenRules, misspelt } from './settings-rules.ts';

/** The environment for programs that a command starts. */
export function environmentOf({ env = process.env }: { env?: NodeJS.ProcessEnv }) {
  return env;
}

/** Reads the settings from the environment. Throws a `ConfigError` that lists every problem. */
export function readConfig(given: NodeJS.ProcessEnv = process.env): Config {
  const env = withoutIdle(given);
  const problems: string[] = [];
  const sources = new Map<string, GivenSetting>();
  const entries = Object.entries(settings).map(([name, setting]: [string, Setting<unknown>]) => {
    try {
      const text = readSetting(env, name, setting);
      noteSource(sources, env, name, setting);
      if (text !== null && setting.secret) hideSecret(text);
      return [name, text === null ? null : setting.read(text)];
    } catch (error) {
      problems.push(`${name}: ${messageOf(error)}`);
      return [name, null];
    }
  });
  problems.push(...misspelt(env, [...Object.keys(settings), ...Object.keys(chainSettings)], files));
  const variable = (name: string) => {
    try {
      return readSetting(env, name, { read: String, default: null, secret: true, says: '' });
    } catch (error) {
      throw new ConfigError(`${name}: ${messageOf(error)}`, { cause: error });
    }
  };
  const isGiven = (name: string) => Boolean(env[name] || env[`${name}_FILE`]);
  const named = (prefix: string) =>
    Object.keys(env).filter((name) => name.startsWith(prefix) && isGiven(name));
  // A setting that could not be read is null until the problems are thrown below.
  const config = {
    ...Object.fromEntries(entries),
    variable: Object.assign(variable, { named }),
    given: sources,
  } as Config;
  for (const [pattern, setting] of Object.entries(chainSettings))
    for (const name of namesOf(pattern, env)) noteSource(sources, env, name, setting);
  if (problems.length === 0) problems.push(...brokenRules(config, isGiven));
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

/**
 * The environment without the standard's names for traces while these are off: injectors set them
 * for every program, with values that only other programs take.
 */
function withoutIdle(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isOff = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true';
  if (env.OTEL_EXPORTER_OTLP_ENDPOINT && !isOff) return env;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_')));
}

function noteSource(
  sources: Map<string, GivenSetting>,
  env: NodeJS.ProcessEnv,
  name: string,
  { secret, long }: Setting<unknown>,
): void {
  if (env[name]) sources.set(name, { from: 'environment', text: secret ? null : env[name] });
  else if ((secret || long) && env[`${name}_FILE`]) sources.set(name, { from: 'file', text: null });
}

/** The variables that are set and have a name such as `FAREBOX_RPC_<NAME>`. */
function namesOf(pattern: string, env: NodeJS.ProcessEnv): string[] {
  const form = new RegExp(`^${pattern.replace('<NAME>', '[A-Z0-9_]+')}$`);
  const names = Object.keys(env).map((name) => name.replace(/_FILE$/, ''));
  return [...new Set(names)].filter((name) => form.test(name));
}

/** Other services repeat secrets in their refusals, which are logged. */
function hideSecret(given: string): void {
  // The path of the storage folder is public.
  if (!given.startsWith('disk')) given.split(/\s+/).forEach(hideInLogs);
}

function readSetting(
  env: NodeJS.ProcessEnv,
  name: string,
  setting: Setting<unknown>,
): string | null {
  const direct = env[name];
  const file = setting.secret || setting.long ? env[`${name}_FILE`] : undefined;
  if (direct && file) throw new ConfigError(`is also given as ${name}_FILE. Keep one of them.`);
  if (direct) {
    if (direct.trim() === '') throw new ConfigError('is blank.');
    return direct;
  }
  if (file) {
    const held = readSecretFile(file);
    if (held === '') throw new ConfigError(`${file} is empty.`);
    return held;
  }
  return setting.default;
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(`cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

/** The first descriptor that systemd passes (`sd_listen_fds(3)`). */
const firstFd = 3;

/**
 * The listening socket that systemd has passed to this process; null if it passed none. Throws
 * `ConfigError` if there are several.
 */
export function systemdSocket(
  env: NodeJS.ProcessEnv = process.env,
  pid: number = process.pid,
): { fd: number } | null {
  // The variables are inherited by processes that the sockets are not meant for.
  if (env.LISTEN_PID !== String(pid)) return null;
  const count = Number(env.LISTEN_FDS);
  if (count > 1)
    throw new ConfigError(
      `LISTEN_FDS: systemd has passed ${count} sockets, and Farebox takes one. Leave one ListenStream= in the socket unit.`,
    );
  return count === 1 ? { fd: firstFd } : null;
}
