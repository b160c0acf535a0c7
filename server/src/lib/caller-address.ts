import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The address of the caller behind the operator's own proxies, in its shortest spelling. `peer` is
 * the other end of the connection, `forwarded` the X-Forwarded-For header, to which each of the
 * `proxies` has added the address that called it. An entry without an address is skipped: then
 * the caller is the nearest hop with one.
 */
export function callerAddress(
  peer: string | undefined,
  forwarded: string,
  proxies: number,
): string {
  const hops = [peer ?? ''];
  if (proxies > 0) {
    const entries = forwarded.split(',').filter((entry) => entry.trim() !== '');
    hops.push(...entries.reverse().slice(0, proxies));
  }
  for (const hop of hops.reverse()) {
    const address = addressOfHop(hop);
    if (address !== null) return address;
  }
  return peer ?? '';
}

/**
 * The network of an address: for IPv6 its /64, since one customer usually has a whole /64. `address`
 * is one that `callerAddress` returned.
 */
export function networkOf(address: string): string {
  if (isIPv4(address) || isIP(address) === 0) return address;
  return ipaddr.IPv6.parse(address).parts.slice(0, 4).map(hex).join(':');
}

/**
 * Reads `IP`, `IP:port`, `IPv6`, `[IPv6]` and `[IPv6]:port`, also in quotes and with a zone.
 * Returns null for anything else, such as `unknown` or a name.
 */
function addressOfHop(hop: string): string | null {
  // Saves time: this runs at every call.
  if (isIPv4(hop)) return hop;
  const text = hop
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim();
  const bare = /^\[([^\]]*)\]/.exec(text)?.[1] ?? text;
  // Without brackets, what may be the last group of an IPv6 address is one.
  const port = /:.*:/.test(bare) ? /:\d{1,5}$/ : /:[^:]*$/;
  const host = isIP(bare) === 0 ? bare.replace(port, '') : bare;
  if (isIP(host) === 0) return null;
  return isIPv4(host) ? host : inner4(host.replace(/%.*$/, ''));
}

const hex = (part: number): string => part.toString(16);

/** Mapped (`::ffff:0:0/96`) and NAT64 (`64:ff9b::/96`) addresses stand for an IPv4 address. */
function inner4(ipv6: string): string {
  // The spelling `::1.2.3.4` is no mapped address, although the library takes it for one.
  const plain = new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
  const { parts } = ipaddr.IPv6.parse(plain);
  const [prefix, tail] = [parts.slice(0, 6).map(hex).join(':'), parts.slice(6)];
  if (prefix === '0:0:0:0:0:ffff' || prefix === '64:ff9b:0:0:0:0')
    return tail.flatMap((part) => [part >> 8, part & 255]).join('.');
  return plain;
}
