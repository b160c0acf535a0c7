/** From a name to its addresses, and whether they are public. */
import { Resolver, lookup as getaddrinfo } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname as machineName, networkInterfaces } from 'node:os';

import { canonicalAddress, isPublicAddress, literalAddress } from './address.ts';
import { withTimeout } from './with-timeout.ts';

/** Every address of a name, never none. Rejects when the name has none or an answer is missing. */
export type Lookup = (hostname: string) => Promise<string[]>;

/**
 * As every other program on this machine resolves names, search domains and all. For names the
 * operator gave.
 */
export const systemLookup: Lookup = async (hostname) =>
  (await getaddrinfo(hostname, { all: true })).map(({ address }) => address);

export interface LookupOptions {
  /** Name servers as `address` or `address:port`; left out: those of the system. */
  servers?: string[];
  hostsFile?: string;
  /** For one question to one server. */
  timeoutMs?: number;
}

/**
 * The hosts file, then DNS. For names that strangers gave: unlike `systemLookup` it takes no thread
 * from Node's small pool while a name server stays silent, so a slow one cannot stop the work with
 * files, and it tries no search domain.
 */
export function createLookup(options: LookupOptions = {}): Lookup {
  const { servers, hostsFile = systemHostsFile, timeoutMs = 2000 } = options;
  return async (hostname) => {
    const written = await readHosts(hostsFile, hostname);
    if (written.length > 0) return written;
    // A new one each time, since it reads the system's servers once, when it is made; that takes
    // microseconds.
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
 * The addresses of this machine's interfaces and its own name, with `more` added: all that leads
 * back to us.
 */
export function ownAddresses(more: Iterable<string> = []): ReadonlySet<string> {
  const own = new Set([machineName().toLowerCase()]);
  for (const entry of Object.values(networkInterfaces()).flat()) {
    if (entry !== undefined) own.add(canonicalAddress(entry.address));
  }
  for (const entry of more) own.add(canonicalAddress(entry.toLowerCase()));
  return own;
}

/** How long a check may hold up the call that asked for it. */
const checkTimeoutMs = 2000;

/**
 * Whether all addresses behind a URL's `hostname` are public now. It says nothing about later:
 * whoever connects must judge again. `unresolved`: no such name, no whole answer, or none within 2
 * s.
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

/** Look-ups that one call may have under way: each takes a socket. */
const checksAtOnce = 8;

/**
 * The same for the names of one call, which together take no longer than one. What is not found in
 * that time is left out.
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
  // Set before those of the look-ups, so that none begins when the first of them give up.
  const timer = setTimeout(() => {
    late = true;
    over.resolve();
  }, checkTimeoutMs);
  const next = async (): Promise<void> => {
    for (const hostname of rest) {
      found.set(hostname, await resolvesToPublic(hostname, lookup, own));
      if (late) return;
    }
  };
  const checks = Array.from({ length: Math.min(checksAtOnce, hostnames.size) }, next);
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
 * One family without an address is fine. Any other fault could hide an address, so it fails the
 * whole look-up.
 */
function noneOrThrow(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENODATA' || error.code === 'ENOTFOUND') return [];
  throw error;
}
