import { readdirSync, readFileSync } from 'node:fs';
import { join, parse as parsePath } from 'node:path';
import { parse } from 'yaml';
import {
  accountPaths,
  playXpub,
  readXpub,
  showAddress,
  type DepositKey,
  type Family,
} from '../core/deposit/address.ts';
import {
  endpointVariable,
  xpubVariable,
  type Chain,
  type ShownChain,
} from '../core/deposit/chain.ts';
import { parseChainFile } from '../core/deposit/chain-file.ts';
import { judgeOperatorUrl, splitCredentials } from '../lib/outbound/address.ts';
import type { Fetch } from '../lib/outbound/fetch.ts';
import { messageOf } from '../lib/unknown.ts';
import { QuestionLimits } from './limits.ts';
import type { ChainEndpoints } from './read-chain.ts';
import type { PlayChain } from './play.ts';
import { openRpc, type RpcEndpoint } from './rpc.ts';

/** A chain that is read. */
export interface LiveChain extends ShownChain {
  endpoints: ChainEndpoints;
  key: DepositKey;
}

/** The chains of a process. */
export interface Chains {
  live: readonly LiveChain[];
  /** Pays play money, in the trial only. */
  play: PlayChain | null;
  /** Ends the running calls to the chains' endpoints. */
  hangUp: () => void;
}

const ofEverybody =
  'This xpub belongs to a mnemonic that is printed in manuals, so anybody can take the deposits. Use the xpub of your own wallet.';

export interface EndpointOptions {
  /** A setting by its name; null: not set. */
  variable: (name: string) => string | null;
  fetch: Fetch;
  /**
   * Keeps a secret, and the parts of a URL that may be keys, out of the log. Endpoints repeat them
   * in their errors.
   */
  hide: (secret: string) => void;
}

export interface ChainOptions extends EndpointOptions {
  /** Folder of the chain files. */
  dir: string;
  xpubs: Readonly<Record<Family, string | null>>;
  /** The names of all settings of chains that are set. Default: only those that are asked for. */
  named?: readonly string[];
}

/**
 * The chains whose endpoints are set. `faults`: sentences about files and settings that are wrong;
 * if there are any, no chain may be read.
 */
export function openChains(options: ChainOptions): Chains & { faults: string[] } {
  const faults: string[] = [];
  const hangingUp = new AbortController();
  const { signal } = hangingUp;
  const keys = new Map<Family, DepositKey>();
  for (const family of ['evm', 'tron'] as const) {
    const xpub = options.xpubs[family];
    if (xpub === null) continue;
    options.hide(xpub);
    const key = openKey(family, xpub);
    if ('problem' in key) faults.push(key.problem);
    else keys.set(family, key);
  }
  const { evm, tron } = options.xpubs;
  if (evm !== null && evm === tron)
    faults.push(
      `${xpubVariable('evm')} and ${xpubVariable('tron')} are the same key, so an address would be on both kinds of chains. Set each to the xpub of its own account, ${accountPaths.evm} and ${accountPaths.tron}.`,
    );
  const live: LiveChain[] = [];
  const described = readChainFiles(options.dir, faults);
  faults.push(...uselessSettings(described, options));
  for (const chain of described) {
    const setting = endpointVariable(chain.name);
    const endpoints = openEndpoints(chain, options, signal);
    if (endpoints === null) continue;
    const key = keys.get(chain.family);
    if ('problem' in endpoints) faults.push(endpoints.problem);
    if (!key && options.xpubs[chain.family] === null)
      faults.push(
        `${setting} is set, so set ${xpubVariable(chain.family)} too: addresses are derived from it.`,
      );
    const twin = live.find((each) => each.chain.chain_id === chain.chain_id)?.chain;
    // guard: chain-has-one-name
    if (twin)
      faults.push(
        `${setting}: ${chain.name} and ${twin.name} are the same chain (${chain.chain_id}), so each deposit would be credited twice. Unset one of them.`,
      );
    if (!('problem' in endpoints) && key) live.push({ ...shownChain(chain), endpoints, key });
  }
  return { live, play: null, hangUp: () => hangingUp.abort(), faults };
}

/** One sentence for each setting that no chain reads. */
function uselessSettings(chains: Chain[], { named = [], dir }: ChainOptions): string[] {
  const plain = (name: string) => name.replace(/_FILE$/, '');
  const isSet = new Set(named.map(plain));
  const keyOf = ({ name }: Chain) => `${endpointVariable(name)}_KEY`;
  const endpoints = chains.map(({ name }) => endpointVariable(name));
  return named.flatMap((given) => {
    const name = plain(given);
    if (endpoints.includes(name)) return [];
    const chain = chains.find((each) => keyOf(each) === name);
    if (!chain)
      return [`${given}: no chain file in ${dir} has this name, only ${endpoints.join(', ')} do.`];
    if (chain.family !== 'tron') return [`${given}: only a chain of the TRON family takes a key.`];
    const endpoint = endpointVariable(chain.name);
    return isSet.has(endpoint) ? [] : [`${given} needs ${endpoint}.`];
  });
}

function shownChain(chain: Chain): ShownChain {
  return { chain, show: (address) => showAddress(address, chain.family) };
}

/** The chains that the folder's files describe, whether or not they are read. */
export function describeChains(dir: string): ShownChain[] {
  return readChainFiles(dir, []).map(shownChain);
}

/** The key that is set for a family, or a sentence that says what is wrong with it. */
export function openKey(family: Family, xpub: string): DepositKey | { problem: string } {
  const read = readXpub(xpub, family);
  const setting = xpubVariable(family);
  // guard: play-key-is-for-the-trial
  if (xpub === playXpub) return { problem: `${setting}: ${ofEverybody}` };
  if ('problem' in read) return { problem: `${setting}: ${read.problem}` };
  return { family, xpub, addressAt: read.addressAt };
}

/** The chains that the folder's files describe. Adds to `faults` whatever is wrong with a file. */
export function readChainFiles(dir: string, faults: string[]): Chain[] {
  const chains: Chain[] = [];
  for (const file of readdirSync(dir).toSorted()) {
    if (!/\.ya?ml$/.test(file)) continue;
    const path = join(dir, file);
    try {
      const { chain, faults: found } = parseChainFile(parse(readFileSync(path, 'utf8')));
      faults.push(...found.map(({ message }) => `${path}: ${message}`));
      if (chain && chain.name !== parsePath(path).name)
        faults.push(`${path}: name must be the name of the file without .yaml.`);
      if (chain) chains.push(chain);
    } catch (error) {
      faults.push(`${path}: ${messageOf(error)}`);
    }
  }
  return chains;
}

/**
 * The one or two endpoints that are set for a chain, or a sentence that says what is wrong with
 * them; null: none is set.
 */
export function openEndpoints(
  chain: Chain,
  options: EndpointOptions,
  signal?: AbortSignal,
): ChainEndpoints | { problem: string } | null {
  const setting = endpointVariable(chain.name);
  const text = options.variable(setting);
  if (text === null) return null;
  const [first, second, ...more] = text.trim().split(/\s+/);
  const all = [first, second].filter((url) => url !== undefined);
  const wrong = all.map((url) => judgeOperatorUrl(url, { takesUser: true })).find(({ ok }) => !ok);
  if (more.length > 0 || wrong?.ok === false)
    return {
      problem: `${setting}: must be one or two https or http addresses with a blank between${wrong?.ok === false ? `: an address ${wrong.reason}` : ''}.`,
    };
  const [one, two] = all.map((url) => {
    options.hide(url);
    const { url: plain, headers } = splitCredentials(url);
    const endpoint: RpcEndpoint = {
      url: plain,
      headers: { ...headers, ...headersFor(chain, options) },
    };
    return { rpc: openRpc(options.fetch, endpoint, signal), limits: new QuestionLimits() };
  });
  return two ? [one!, two] : [one!];
}

/** TronGrid takes its key in a header; other services have it in the address. */
function headersFor({ name, family }: Chain, options: EndpointOptions): Record<string, string> {
  const key = family === 'tron' ? options.variable(`${endpointVariable(name)}_KEY`) : null;
  if (key === null) return {};
  options.hide(key);
  return { 'tron-pro-api-key': key };
}
