/**
 * An upstream as a catalog file defines it: data, so that another server of a known kind needs no
 * code. Pure.
 */

export const adapterNames = ['openai', 'fal', 'replicate', 'comfyui', 'http-job'] as const;
export type AdapterName = (typeof adapterNames)[number];

export interface UpstreamDefinition {
  name: string;
  adapter: AdapterName;
  /** Base address without a slash at its end; null: only `url_from` has it. */
  url: string | null;
  /** Names of environment variables. */
  url_from: string | null;
  key_from: string | null;
  key_optional: boolean;
  secret_from: string | null;
  /** Jobs that it may run at the same time, over all our processes. */
  concurrency: number;
  /** Options of its adapter; their form is in `catalog/schema.json`. */
  options: Record<string, unknown>;
}

/** A definition with the values from the environment. */
export interface UpstreamSettings {
  name: string;
  url: string;
  key: string | null;
  /** Signs its callbacks. */
  secret: string | null;
  concurrency: number;
  options: Record<string, unknown>;
}

/** As written in the file, after it has passed the schema. */
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

/** Characters that a header can carry. */
const keyForm = /^[\x21-\x7e]+$/;
/** Each key has rows of its own. */
const keysMax = 32;
/** As in `catalog/schema.json`. Text before an @ would be shown wherever an address is shown. */
const urlForm = /^https?:\/\/[^/?#@\s\\]+(?:\/[^?#\s]*)?$/;

/**
 * The settings of a defined upstream, or what the operator has to do to set it up. `keys`: all keys
 * in its variable, of which `key` is the first. `variable` reads the environment.
 */
export function settingsOf(
  definition: UpstreamDefinition,
  variable: (name: string) => string | null,
): (UpstreamSettings & { keys: readonly string[] }) | string {
  const { name, url_from, key_from, secret_from, concurrency, options } = definition;
  const read = (from: string | null) => (from === null ? null : variable(from));
  const needs = (what: string) => `the upstream "${name}" is not set up: it needs ${what}`;
  const keys = [...new Set(read(key_from)?.match(/\S+/g))];
  const [key = null] = keys;
  const given = read(url_from);
  const url = given?.replace(/\/+$/, '') ?? definition.url;
  if (url === null) return needs(url_from!);
  if (!urlForm.test(url) || !URL.canParse(url)) {
    const what = given === null ? 'its url' : url_from;
    const form = 'an http or https address without user name, password and query';
    return needs(`${what} to be ${form}; put a key into the variable that key_from names`);
  }
  if (key === null && key_from !== null && !definition.key_optional) return needs(key_from);
  if (!keys.every((each) => keyForm.test(each)))
    return needs(`${key_from} to be a key of ASCII letters, digits and signs`);
  if (keys.length > keysMax) return needs(`${key_from} to hold at most ${keysMax} keys`);
  return { name, url, key, keys, secret: read(secret_from), concurrency, options };
}
