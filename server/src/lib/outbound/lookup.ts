/** Resolves names to addresses and checks whether they are public. */
import { Resolver, lookup as getaddrinfo } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname as machineName, networkInterfaces } from 'node:os';

import { canonicalAddress, isPublicAddress, literalAddress } from './address.ts';
import { withTimeout } from '../with-timeout.ts';

/** All addresses of a name, at least one. Rejects if there is none or if an answer is missing. */
export type Lookup = (hostname: string) => Promise<string[]>;

/**
 * Resolves names like every other program on this machine, with search domains. For names that the
 * operator gave.
 */
export const lookUpBySystem: Lookup = async (hostname) =>
  (await getaddrinfo(hostname, { all: true })).map(({ address }) => address);

export interface LookupOptions {
  /** Name servers as `address` or `address:port`; default: the system's. */
  servers?: string[];
  hostsFile?: string;
  /** Time limit of one query to one server. */
  timeoutMs?: number;
}

/**
 * Reads the hosts file, then asks DNS. For names that strangers gave: unlike `lookUpBySystem` it
 * uses no thread of Node's small pool while a name server does not answer, so slow servers cannot
 * block file access. It tries no search domain.
 */
export function createLookup(options: LookupOptions = {}): Lookup {
  const { servers, hostsFile = systemHostsFile, timeoutMs = 2000 } = options;
  return async (hostname) => {
    const written = await readHosts(hostsFile, hostname);
    if (written.length > 0) return written;
    // A new resolver each time (some microseconds), because a resolver reads the system's servers
    // only when it is created.
    const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const answers = await Promise.all([
      resolver.resolve4(hostname).catch(noneOrThrow),
      resolver.resolve6(hostname).catch(noneOrThrow),
    ]);
    const addresses = answers.flat();
    if (addresses.length === 0) throw new Error('the name has no address');
    return addresses;
  };
}

/**
 * The addresses of this machine's interfaces, its own name, and `more`: all names and addresses
 * that lead back to this service.
 */
export function ownAddresses(more: Iterable<string> = []): ReadonlySet<string> {
  const own = new Set([machineName().toLowerCase()]);
  for (const entry of Object.values(networkInterfaces()).flat()) {
    if (entry !== undefined) own.add(canonicalAddress(entry.address));
  }
  for (const entry of more) own.add(canonicalAddress(entry.toLowerCase()));
  return own;
}

/** How long a check may delay its caller. */
const checkTimeoutMs = 2000;

/**
 * Whether all addresses behind a URL's `hostname` are public now. They may change, so they must be
 * checked again when connecting. `unresolved`: the name is unknown, or its answer is incomplete or
 * takes longer than `checkTimeoutMs`.
 */
export async function resolvesToPublic(
  hostname: string,
  lookup: Lookup = createLookup(),
  own: ReadonlySet<string> = ownAddresses(),
): Promise<'public' | 'not_public' | 'unresolved'> {
  const literal = literalAddress(hostname);
  if (literal !== null) return isPublicAddress(literal, own) ? 'public' : 'not_public';
  if (own.has(hostname)) return 'not_public';
  try {
    const addresses = await withTimeout(lookup(hostname), checkTimeoutMs);
    if (addresses.length === 0) return 'unresolved';
    return addresses.every((ip) => isPublicAddress(ip, own)) ? 'public' : 'not_public';
  } catch {
    return 'unresolved';
  }
}

/** Concurrent look-ups of one call; each uses a socket. */
const checksAtOnce = 8;

/**
 * Checks all names of one call like `resolvesToPublic`, within the time limit of a single name.
 * Names without a result by the end of this time are left out.
 */
export async function allResolveToPublic(
  hostnames: ReadonlySet<string>,
  lookup?: Lookup,
  own?: ReadonlySet<string>,
): Promise<Map<string, 'public' | 'not_public' | 'unresolved'>> {
  const found = new Map<string, 'public' | 'not_public' | 'unresolved'>();
  if (hostnames.size === 0) return found;
  const rest = hostnames.values();
  const over = Promise.withResolvers<void>();
  let late = false;
  // Set before the timers of the look-ups, so that no new look-up begins when the first look-ups
  // time out.
  const timer = setTimeout(() => {
    late = true;
    over.resolve();
  }, checkTimeoutMs);
  const checkRest = async (): Promise<void> => {
    for (const hostname of rest) {
      found.set(hostname, await resolvesToPublic(hostname, lookup, own));
      if (late) return;
    }
  };
  const checks = Array.from({ length: Math.min(checksAtOnce, hostnames.size) }, checkRest);
  await Promise.race([Promise.all(checks), over.promise]);
  clearTimeout(timer);
  return new Map(found);
}

const systemHostsFile =
  process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';

async function readHosts(path: string, hostname: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const found: string[] = [];
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) !== 0 && names.some((name) => name.toLowerCase() === hostname)) {
      found.push(address);
    }
  }
  return found;
}

/**
 * Having no address of one family is fine. Any other error could hide an address, so it fails the
 * whole look-up.
 */
function noneOrThrow(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENODATA' || error.code === 'ENOTFOUND') return [];
  throw error;
}
