import { judgeOperatorUrl } from '../../lib/outbound/address.ts';

/**
 * An upstream as a catalog file defines it. It is data, so that adding a server of a known kind
 * needs no code. Pure.
 */

export const adapterNames = [
  'openai',
  'anthropic',
  'fal',
  'replicate',
  'comfyui',
  'http-job',
] as const;
export type AdapterName = (typeof adapterNames)[number];

export interface UpstreamDefinition {
  name: string;
  adapter: AdapterName;
  /** Base address without a slash at its end; null if it is given only through `url_from`. */
  url: string | null;
  /** `url_from`, `key_from` and `secret_from` are names of environment variables. */
  url_from: string | null;
  key_from: string | null;
  key_optional: boolean;
  secret_from: string | null;
  /** Maximum number of jobs that it may run at the same time, over all our processes. */
  concurrency: number;
  /** Options of the adapter, described in `catalog/schema.json`. */
  options: Record<string, unknown>;
}

/** A definition with the values from the environment. */
export interface UpstreamSettings {
  name: string;
  url: string;
  key: string | null;
  /** Verifies the upstream's callbacks. */
  secret: string | null;
  concurrency: number;
  options: Record<string, unknown>;
}

/** As written in the file, after the schema check. */
export type DefinitionForm = Pick<UpstreamDefinition, 'name' | 'adapter'> &
  Partial<UpstreamDefinition>;

export function definitionOf(form: DefinitionForm): UpstreamDefinition {
  return {
    url_from: null,
    key_from: null,
    key_optional: false,
    secret_from: null,
    concurrency: 10,
    options: {},
    ...form,
    url: form.url?.replace(/\/+$/, '') ?? null,
  };
}

/** Characters that a header can contain. */
const keyForm = /^[\x21-\x7e]+$/;
/** Maximum number of keys of one upstream; the database keeps the state of each key. */
const keysMax = 32;
/**
 * The same form as in `catalog/schema.json`. A user name or password is not allowed, because
 * addresses are shown on pages and in logs.
 */
const urlForm = /^https?:\/\/[^/?#@\s\\]+(?:\/[^?#\s]*)?$/;

/**
 * The settings of a defined upstream, or a sentence that tells the operator what is missing.
 * `keys`: all keys in the variable; `key` is the first of them. `variable` reads the environment.
 */
export function settingsOf(
  definition: UpstreamDefinition,
  variable: (name: string) => string | null,
): (UpstreamSettings & { keys: readonly string[] }) | string {
  const { name, url_from, key_from, concurrency, options } = definition;
  const { url, keys, secret } = valuesOf(definition, variable);
  const [key = null] = keys;
  if (url === null) return needs(definition, url_from!);
  const wrong = wrongSetting(definition, variable);
  if (wrong !== null) return wrong;
  if (key === null && key_from !== null && !definition.key_optional)
    return needs(definition, key_from);
  return { name, url, key, keys, secret, concurrency, options };
}

/** Why the address or a key of a defined upstream can never be used; null if each can be. */
export function wrongSetting(
  definition: UpstreamDefinition,
  variable: (name: string) => string | null,
): string | null {
  const { key_from } = definition;
  const { url, given, keys } = valuesOf(definition, variable);
  const verdict = url === null ? null : judgeOperatorUrl(url);
  if (verdict !== null && (!urlForm.test(url!) || !verdict.ok)) {
    const what = given === null ? 'its url' : definition.url_from;
    const form = 'an http or https address without user name, password and query';
    const why = verdict.ok ? '' : ` (it ${verdict.reason})`;
    const to = `${what} to be ${form}${why}; a key belongs in the variable that key_from names`;
    return needs(definition, to);
  }
  if (!keys.every((each) => keyForm.test(each)))
    return needs(definition, `${key_from} to hold a key of ASCII letters, digits and signs`);
  if (keys.length > keysMax)
    return needs(definition, `${key_from} to hold at most ${keysMax} keys`);
  return null;
}

function needs({ name }: UpstreamDefinition, what: string): string {
  return `the upstream "${name}" is not set up: it needs ${what}`;
}

function valuesOf(
  { url_from, key_from, secret_from, ...definition }: UpstreamDefinition,
  variable: (name: string) => string | null,
) {
  const read = (from: string | null) => (from === null ? null : variable(from));
  const given = read(url_from);
  return {
    given,
    url: given?.replace(/\/+$/, '') ?? definition.url,
    keys: [...new Set(read(key_from)?.match(/\S+/g))],
    secret: read(secret_from),
  };
}
