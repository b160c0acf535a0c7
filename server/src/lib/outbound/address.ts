/**
 * Decides which addresses and URLs are public, and therefore which of strangers' URLs may be
 * called. Nothing is resolved here: if a host name passes, the addresses that it resolves to must
 * be checked too.
 */
import { BlockList, SocketAddress, isIP } from 'node:net';

/** Longest URL that callers and operators may give, in characters. */
export const urlLengthMax = 2048;
/** Longest URL that is called. Signed ones, such as the target of a redirect, may be this long. */
export const calledUrlLengthMax = 8192;

/**
 * Addresses that are never public. An IPv6 address is public only inside 2000::/3 and outside this
 * table. A form that contains an IPv4 address is refused as a whole, because extracting and
 * checking the inner address is error-prone.
 */
const notPublic: readonly [cidr: string, what: string][] = [
  ['0.0.0.0/8', 'this network; a connection to it ends on this machine'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-grade NAT; 100.100.100.200 is a metadata service'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local; the metadata services of most clouds'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol assignments; 192.0.0.192 is a metadata service'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'AS112'],
  ['192.52.193.0/24', 'AMT'],
  ['192.88.99.0/24', '6to4 relays, retired'],
  ['192.168.0.0/16', 'private'],
  ['192.175.48.0/24', 'AS112'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved, with broadcast'],
  ['168.63.129.16/32', 'the host services of one cloud: looks public, is in no registry'],
  ['::/96', 'unspecified, loopback, and IPv4-compatible'],
  ['::ffff:0:0/96', 'IPv4-mapped'],
  ['::ffff:0:0:0/96', 'IPv4-translated'],
  ['64:ff9b::/96', 'NAT64'],
  ['64:ff9b:1::/48', 'NAT64, local'],
  ['100::/64', 'discard only'],
  ['100:0:0:1::/64', 'dummy prefix'],
  ['2001::/23', 'protocol assignments: Teredo (carries IPv4), benchmarking, ORCHID'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4 (carries IPv4)'],
  ['2620:4f:8000::/48', 'AS112'],
  ['3fff::/20', 'documentation'],
  ['5f00::/16', 'segment routing'],
  ['fc00::/7', 'unique local; some clouds keep their metadata service here'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local, retired'],
  ['ff00::/8', 'multicast'],
];

/** Endings and whole names that never belong to the public Internet. */
const internalNames: readonly string[] = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'home.arpa',
  'svc',
  'onion',
  'test',
  'invalid',
  'example',
];

// Two lists, because in a common one the IPv4-mapped range would match every IPv4 address.
const refused4 = blockList(notPublic.map(([cidr]) => cidr).filter((cidr) => !cidr.includes(':')));
const refused6 = blockList(notPublic.map(([cidr]) => cidr).filter((cidr) => cidr.includes(':')));
const globalUnicast = blockList(['2000::/3']);
const nobody: ReadonlySet<string> = new Set();

/**
 * Whether a socket may be opened to this address. Only a plain dotted IPv4 address or an IPv6
 * address without a zone can be public. `own`: more addresses to refuse, in the form of
 * `canonicalAddress`.
 */
export function isPublicAddress(ip: string, own: ReadonlySet<string> = nobody): boolean {
  const family = isIP(ip);
  if (family === 0 || ip.includes('%')) return false;
  if (own.size > 0 && own.has(canonicalAddress(ip))) return false;
  if (family === 4) return !refused4.check(ip, 'ipv4');
  return globalUnicast.check(ip, 'ipv6') && !refused6.check(ip, 'ipv6');
}

/**
 * Gives equal addresses one spelling: IPv6 in lower case and shortened. Any other text is returned
 * unchanged.
 */
export function canonicalAddress(ip: string): string {
  if (isIP(ip) !== 6 || ip.includes('%')) return ip;
  return new SocketAddress({ address: ip, family: 'ipv6' }).address;
}

/** Names of this machine that no name server can lead elsewhere, as they appear in a URL. */
export const loopbackHosts: readonly string[] = ['127.0.0.1', '[::1]', 'localhost'];

export type UrlVerdict = { ok: true; url: URL } | { ok: false; reason: string };

export interface JudgeOptions {
  /** Default: `urlLengthMax`. */
  lengthMax?: number;
  httpsOnly?: boolean;
  /** This installation's own addresses and host names (in lower case), which are refused too. */
  own?: ReadonlySet<string>;
  /** Whether this host may be called although it is not public. The other rules apply to it too. */
  exempt?: (url: URL) => boolean;
  /**
   * True: a user name and a password are accepted, because `splitCredentials` will take them out.
   */
  takesUser?: boolean;
}

/**
 * Checks a stranger's URL by its parsed parts, not its spelling. `reason` continues a sentence that
 * begins with the name of the field, such as "webhook_url …".
 */
export function judgeUrl(text: string, options: JudgeOptions = {}): UrlVerdict {
  const { lengthMax = urlLengthMax } = options;
  if (text.length > lengthMax) return no(`must not be longer than ${lengthMax} characters`);
  // Parsers read these characters differently, and a later reader may use another parser.
  if (text.trim() !== text || hasBlankOrBackslash(text)) {
    return no('must not contain spaces, control characters or backslashes');
  }
  if (!/^https?:\/\/[^/]/i.test(text)) return no('must be an absolute http or https URL');
  const url = URL.parse(text);
  if (url === null) return no('is not a valid URL');
  if (options.httpsOnly && url.protocol !== 'https:') return no('must be an https URL');
  if (url.username !== '' || url.password !== '') {
    if (!options.takesUser) return no('must not contain a user name or password');
    if (basicOf(url) === null)
      return no('must have special characters of its user name and password percent-encoded');
  }
  if (url.port === '0') return no('must not name port 0');
  if (!hasHost(url)) return no('must have a valid host name');
  if (options.exempt?.(url)) return { ok: true, url };
  if (!isWebPort(url.port)) return no('must use port 80, 443 or one above 1023');
  const reason = judgeHost(url.hostname, options.own ?? nobody);
  return reason === null ? { ok: true, url } : no(reason);
}

/**
 * Checks a URL that the operator gave by the rules of the calls that will be made to it, so that a
 * setting which cannot work stops the start. Its host may be private.
 */
export function judgeOperatorUrl(
  text: string,
  { takesUser = false }: Pick<JudgeOptions, 'takesUser'> = {},
): UrlVerdict {
  if (text.includes('#')) return no('must not contain the character #');
  return judgeUrl(text, { takesUser, exempt: () => true });
}

/** True for an address and for a name that a name server could know; a dot may end it. */
function hasHost({ hostname }: URL): boolean {
  if (literalAddress(hostname) !== null) return true;
  return hostname.length <= 253 && hostname.replace(/\.$/, '').split('.').every(isLabel);
}

/**
 * The URL without its user name and password, and the header that signs in with them. For a URL
 * that `judgeOperatorUrl` has accepted: calls refuse URLs with a password, because a stranger's URL
 * could make them sign in somewhere.
 */
export function splitCredentials(text: string): { url: string; headers: Record<string, string> } {
  const url = new URL(text);
  const authorization = basicOf(url);
  if (authorization === null) return { url: text, headers: {} };
  url.username = '';
  url.password = '';
  return { url: url.href, headers: { authorization } };
}

/**
 * The value of the header `Authorization` for a URL's user name and password. Null: it has none, or
 * they are not decodable.
 */
export function basicOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null;
  try {
    const [user, secret] = [username, password].map(decodeURIComponent);
    return `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
  } catch {
    return null;
  }
}

/** The address inside a URL's `hostname`, which writes IPv6 in brackets; null for a name. */
export function literalAddress(hostname: string): string | null {
  const inner = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(inner) === 0 ? null : inner;
}

/**
 * Below 1024 are the ports of mail, remote shells and shared folders, and no other web servers:
 * strangers must not make this service speak to them. The parser leaves the usual port out.
 */
function isWebPort(port: string): boolean {
  return ['', '80', '443'].includes(port) || Number(port) > 1023;
}

function judgeHost(hostname: string, own: ReadonlySet<string>): string | null {
  const literal = literalAddress(hostname);
  if (literal !== null)
    return isPublicAddress(literal, own) ? null : 'must lead to a public address';
  if (own.has(hostname)) return 'must not lead back to this service';
  // Lists of names are often written without considering the trailing dot.
  if (hostname.endsWith('.')) return 'must not have a host name that ends with a dot';
  if (!hostname.includes('.') || isInternal(hostname)) return 'must have a public host name';
  return null;
}

function isLabel(label: string): boolean {
  return label.length <= 63 && /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/.test(label);
}

function isInternal(hostname: string): boolean {
  return internalNames.some((name) => hostname === name || hostname.endsWith(`.${name}`));
}

function hasBlankOrBackslash(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- it searches for control characters
  return /[\u0000-\u0020\u007f\\]/.test(text);
}

function no(reason: string): UrlVerdict {
  return { ok: false, reason };
}

function blockList(cidrs: string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [net = '', bits = ''] = cidr.split('/');
    list.addSubnet(net, Number(bits), net.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** The reason of a verdict as the end of a sentence. */
export function because(verdict: UrlVerdict | null): string {
  return verdict === null || verdict.ok ? '' : `: it ${verdict.reason}`;
}
