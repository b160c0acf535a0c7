/**
 * Opens sockets for outbound calls, and keeps strangers' URLs away from this machine's own network.
 */
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';

import { buildConnector } from 'undici';

import { isPublicAddress } from './address.ts';
import { FetchError, faults } from './fetch-error.ts';
import { dropInterim } from './interim.ts';
import { createLookup, ownAddresses, lookUpBySystem, type Lookup } from './lookup.ts';
import { withTimeout } from '../with-timeout.ts';

export interface ConnectorOptions {
  guard: boolean;
  /** Whether a host may be called although it is not public. IPv6 is given without brackets. */
  isExempt: (hostname: string, port: string) => boolean;
  connectTimeoutMs: number;
  lookup?: Lookup;
  /** More names and addresses of this installation. */
  own?: ReadonlySet<string>;
}

/** Limits the attempts for a name with very many addresses. */
const attemptsMax = 8;

/** With Node's default of 250 ms, every address of a distant host could time out. */
const attemptTimeoutMs = 1000;

/**
 * A connector for undici. With `guard` it checks addresses as late as possible. A literal address
 * is checked first, because the socket does no look-up for it; otherwise all results of the
 * socket's own look-up are checked; and the peer's address is checked after connecting.
 */
export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const { guard, isExempt, connectTimeoutMs, lookup, own } = options;
  const areFit = (addresses: string[]): boolean => {
    // Read each time, because interfaces change while the service runs.
    const ours = ownAddresses(own);
    return addresses.every((ip) => isPublicAddress(ip, ours));
  };
  const trusted = connector(connectTimeoutMs, (hostname) =>
    resolve(hostname, lookup ?? lookUpBySystem, connectTimeoutMs),
  );
  if (!guard) return trusted;

  const strange = lookup ?? createLookup();
  const guarded = connector(connectTimeoutMs, async (hostname) => {
    const addresses = await resolve(hostname, strange, connectTimeoutMs);
    // A private address among public ones is never an accident, so the whole name is refused.
    // guard: name-judged-at-connect
    if (!areFit(addresses)) throw blockedError();
    return addresses;
  });

  return (target, callback) => {
    const { hostname } = target;
    const port = target.port || defaultPort(target.protocol);
    if (isExempt(hostname, port)) return trusted(target, callback);
    // guard: literal-address-judged
    if (isIP(hostname) !== 0 && !areFit([hostname])) {
      return queueMicrotask(() => callback(blockedError(), null));
    }
    return guarded(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      if (areFit([socket.remoteAddress ?? ''])) return callback(null, socket);
      socket.destroy();
      return callback(blockedError(), null);
    });
  };
}

/**
 * Returns a test for a list of `host` or `host:port`, each matched exactly. IPv6 is in brackets in
 * the list. Throws if an entry has another form.
 */
export function hostList(entries: readonly string[]): (hostname: string, port: string) => boolean {
  const allowed = new Set(entries.map(hostEntry));
  return (hostname, port) => {
    const host = hostname.includes(':') ? `[${hostname}]` : hostname;
    return allowed.has(host) || allowed.has(`${host}:${port}`);
  };
}

export function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80';
}

function hostEntry(entry: string): string {
  const [, host = '', port] = /^(\[[^\]]+\]|[^:[\]/@?#\s]+)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const url = URL.parse(`http://${host}/`);
  if (host === '' || url === null) throw new Error(`"${entry}" is neither host nor host:port`);
  return port === undefined ? url.hostname : `${url.hostname}:${Number(port)}`;
}

function connector(
  connectTimeoutMs: number,
  resolve: (hostname: string) => Promise<string[]>,
): buildConnector.connector {
  const open = buildConnector({
    // One request at a time on a connection, so that it is certain what was sent.
    allowH2: false,
    timeout: connectTimeoutMs,
    lookup: forSocket(resolve),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs,
  });
  return (target, callback) =>
    open(target, (...[error, socket]) =>
      error === null ? callback(null, dropInterim(socket)) : callback(error, null),
    );
}

async function resolve(hostname: string, lookup: Lookup, timeoutMs: number): Promise<string[]> {
  try {
    const addresses = await withTimeout(lookup(hostname), timeoutMs);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    throw new FetchError('dns', faults.name_unresolved, { cause });
  }
  throw new FetchError('dns', faults.name_unresolved);
}

function forSocket(resolve: (hostname: string) => Promise<string[]>): LookupFunction {
  const withCallback = callbackify(resolve);
  return (hostname, options, callback) => {
    withCallback(hostname, (error, addresses) => {
      if (error !== null) return callback(error, '');
      const found = addresses
        .slice(0, attemptsMax)
        .map((address) => ({ address, family: isIP(address) }));
      if (options.all) return callback(null, found);
      return callback(null, found[0]?.address ?? '', found[0]?.family);
    });
  };
}

function blockedError(): FetchError {
  return new FetchError('blocked', faults.not_public);
}
