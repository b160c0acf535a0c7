import { isDeepStrictEqual } from 'node:util';
import type { FindUnsupported } from '../core/catalog/catalog-conflicts.ts';
import {
  settingsOf,
  wrongSetting,
  type AdapterName,
  type UpstreamDefinition,
  type UpstreamSettings,
} from '../core/catalog/upstream-definition.ts';
import { keyName } from '../core/catalog/upstream-key.ts';
import { messageOf } from '../lib/unknown.ts';
import { adapters, unsupportedBy } from './adapters.ts';
import { traceFetch, traceUpstream, type Traces } from './traces.ts';
import type { Upstream, UpstreamTools } from './upstream.ts';

function speaking(
  name: AdapterName,
  settings: UpstreamSettings,
  tools: UpstreamTools,
  traces: Traces | null,
): Upstream {
  const fetch = traces ? traceFetch(tools.fetch, settings, traces) : tools.fetch;
  const download: UpstreamTools['download'] = (url, signal) =>
    tools.download(url, signal, upstream.start_seconds);
  const upstream = adapters[name].create(settings, { ...tools, fetch, download });
  if (traces) traceUpstream(upstream, traces);
  return Object.assign(upstream, { origin: new URL(settings.url).origin });
}

/** Creates one adapter per key, because a key may be unable to see another key's jobs. */
function speakingByKeys(
  name: AdapterName,
  { keys: given, ...settings }: UpstreamSettings & { keys: readonly string[] },
  tools: UpstreamTools,
  traces: Traces | null,
): Upstream {
  if (given.length === 0) return speaking(name, settings, tools, traces);
  const keys = new Map<string, Upstream>();
  for (const key of given) {
    const own = keyName(key);
    const upstream = speaking(name, { ...settings, key }, tools, traces);
    keys.set(own, given.length === 1 ? upstream : { ...upstream, key: own });
  }
  return { ...keys.values().next().value!, key: undefined, keys };
}

/** Names of the upstreams that need no catalog file. */
export const builtIn = ['sandbox'];

/** The upstreams of this process, as the catalog files define them now. */
export interface Upstreams {
  live: ReadonlyMap<string, Upstream>;
  /** Why a definition is invalid; null if it is valid, or if the upstream is not set up yet. */
  faultOf(definition: UpstreamDefinition): string | null;
  unsupportedRowOf(definition: UpstreamDefinition): FindUnsupported;
  /** Replaces the definitions; an upstream whose settings are unchanged is kept. */
  define(definitions: readonly UpstreamDefinition[]): void;
  /**
   * Replaces the keys that are used in place of variables, by upstream; null: it cannot be read.
   * They count from the next `define` on. Returns whether any differs from before.
   */
  storeKeys(keys: StoredKeys): boolean;
  /** True, or what the operator has to do to set it up. */
  usable(name: string): true | string;
  /** Addresses and keys that are set and can never be used, in words for the operator. */
  wrongSettings(): string[];
  /** Its address and whether it has a key; contains no secret. */
  about(name: string): UpstreamAddress;
  close(): Promise<void>;
}

export type StoredKeys = ReadonlyMap<string, string | null>;

export interface UpstreamAddress {
  /** Null: the upstream is built into Farebox. */
  adapter: AdapterName | null;
  /** Null: the upstream needs no address, or has none yet. */
  url: string | null;
  has_credential: boolean;
}

/**
 * `given`: upstreams that already exist; no definition replaces them. `readVariable` reads the
 * environment. `hide` is called with each key and secret before its first use.
 */
export function openUpstreams(
  given: ReadonlyMap<string, Upstream>,
  readVariable: (name: string) => string | null,
  tools: UpstreamTools,
  hide: (secret: string) => void,
  traces: Traces | null = null,
): Upstreams {
  const { variable, unread } = noting(readVariable);
  const live = new Map(given);
  if (traces) for (const upstream of given.values()) traceUpstream(upstream, traces);
  const known = new Map<string, UpstreamDefinition>();
  const missing = new Map<string, string>();
  const keys = keysInPlaceOf(variable);
  if (!given.has('sandbox'))
    missing.set('sandbox', 'the upstream "sandbox" is not set up: it needs FAREBOX_SANDBOX=on');

  const isGiven = (name: string) => builtIn.includes(name) || given.has(name);
  function remove(name: string): void {
    const old = live.get(name);
    live.delete(name);
    known.delete(name);
    missing.delete(name);
    void old?.close?.();
  }

  /** The live upstream, or what is missing to set it up. Throws if its options are invalid. */
  function made(definition: UpstreamDefinition): Upstream | string {
    if (keys.isUnreadable(definition.name)) return unreadableKey(definition);
    const settings = settingsOf(definition, keys.readerFor(definition));
    if (typeof settings === 'string') return settings;
    for (const secret of [...settings.keys, settings.secret]) if (secret !== null) hide(secret);
    return speakingByKeys(definition.adapter, settings, tools, traces);
  }

  function add(definition: UpstreamDefinition): void {
    const { name } = definition;
    keys.isUsedBy(name);
    try {
      const upstream = made(definition);
      if (typeof upstream === 'string') missing.set(name, upstream);
      else live.set(name, upstream);
    } catch (error) {
      const message = messageOf(error);
      missing.set(name, `the upstream "${name}" is not set up: ${message}`);
    }
  }

  return {
    live,
    faultOf(definition) {
      const { name } = definition;
      const isKept = isGiven(name) || isSame(known.get(name), definition);
      return isKept ? null : faultIn(() => made(definition));
    },
    unsupportedRowOf: ({ name, ...definition }) =>
      isGiven(name) ? () => null : unsupportedBy(definition),
    define(newest) {
      const wanted = new Set(newest.map(({ name }) => name));
      for (const name of known.keys()) if (!wanted.has(name)) remove(name);
      for (const definition of newest) {
        const { name } = definition;
        if (isGiven(name)) continue;
        if (isSame(known.get(name), definition) && !keys.isNewFor(name)) continue;
        remove(name);
        known.set(name, definition);
        add(definition);
      }
    },
    storeKeys: keys.replace,
    wrongSettings: () => [...unread, ...wrongIn(known, variable)],
    about: (name) => addressOf(known.get(name), keys.readerFor),
    usable: (name) =>
      live.has(name) || (missing.get(name) ?? `no catalog file defines the upstream "${name}"`),
    close: async () => void (await Promise.all([...live.values()].map((each) => each.close?.()))),
  };
}

/** The message of what the work throws; null if it throws nothing. */
function faultIn(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

type Variable = (name: string) => string | null;

/** The keys that are stored in place of variables. */
function keysInPlaceOf(variable: Variable) {
  let stored: StoredKeys = new Map();
  /** The stored key with which each upstream was set up; undefined: none. */
  const used = new Map<string, string | null | undefined>();
  return {
    replace(newest: StoredKeys): boolean {
      const isNew = !isDeepStrictEqual(newest, stored);
      stored = newest;
      return isNew;
    },
    /** Reads the environment, except for a key that is stored. */
    readerFor({ name, key_from }: UpstreamDefinition): Variable {
      const key = stored.get(name) ?? null;
      return key === null ? variable : (wanted) => (wanted === key_from ? key : variable(wanted));
    },
    isUnreadable: (name: string) => stored.get(name) === null,
    isUsedBy: (name: string) => void used.set(name, stored.get(name)),
    isNewFor: (name: string) => used.get(name) !== stored.get(name),
  };
}

/** Keeps what is wrong with a variable apart, because the catalog file would seem to be wrong. */
function noting(read: (name: string) => string | null) {
  const unread = new Set<string>();
  const variable = (name: string) => {
    try {
      return read(name);
    } catch (error) {
      unread.add(messageOf(error));
      return null;
    }
  };
  return { variable, unread };
}

function wrongIn(
  known: ReadonlyMap<string, UpstreamDefinition>,
  variable: (name: string) => string | null,
): string[] {
  return [...known.values()].flatMap((each) => wrongSetting(each, variable) ?? []);
}

function unreadableKey({ name }: UpstreamDefinition): string {
  return (
    `the upstream "${name}" is not set up: its stored key was sealed with a signing secret that ` +
    'this process has not; set the key again'
  );
}

function isSame(one: UpstreamDefinition | undefined, other: UpstreamDefinition): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function addressOf(
  definition: UpstreamDefinition | undefined,
  readerFor: (definition: UpstreamDefinition) => Variable,
): UpstreamAddress {
  if (definition === undefined) return { adapter: null, url: null, has_credential: false };
  const settings = settingsOf(definition, readerFor(definition));
  const isSet = typeof settings !== 'string';
  return {
    adapter: definition.adapter,
    // Neither address may contain a user name and password.
    url: isSet ? settings.url : definition.url,
    has_credential: isSet && settings.key !== null,
  };
}
