import pino, { type Logger } from 'pino';
import { basicOf } from './outbound/address.ts';
import { activeSpan } from './trace.ts';

/** Matches everything that looks like a secret, ours or an upstream's, anywhere in a line. */
const secrets = [
  /fb[xo]_[0-9A-Za-z]{38}/g,
  /whsec_[0-9A-Za-z+/=]{16,}/g,
  /\b(sk|r8|gsk)[-_][0-9A-Za-z_-]{16,}/g,
  /\b(Bearer|Key|Basic) [0-9A-Za-z._~+/:=-]{12,}/gi,
  /\bx-api-key\b["': ]+[0-9A-Za-z._~+/=-]{12,}/gi,
  /([?&]sig=)[0-9A-Za-z_-]{20,}/g,
  /(:\/\/[^\s:@/"]+:)[^\s@/"]+@/g,
];

/** Hiding shorter secrets would cut into ordinary words. */
const hiddenMinLength = 8;
/** Secrets in use, of any form, longest first. */
let hidden: string[] = [];

/**
 * Removes this text from all later log lines. For a key `id:secret`, removes each half too. For a
 * URL, removes its password, also as HTTP and SMTP send it, and of http and https the URL and its
 * parts that may be keys, but not the host, which lines may name.
 */
export function hideInLogs(secret: string): void {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(secret) ? URL.parse(secret) : null;
  const parts = url ? secretsOf(url) : [secret, ...secret.split(':')].map((part) => part.trim());
  const written = parts.flatMap((part) => [
    part,
    JSON.stringify(part).slice(1, -1),
    encodeURIComponent(part),
  ]);
  const all = new Set([...hidden, ...written.filter((part) => part.length >= hiddenMinLength)]);
  hidden = [...all].toSorted((a, b) => b.length - a.length);
}

/** Shorter parts of a path or query are words such as `jsonrpc`. */
const keyMinLength = 16;

/** Texts of a URL that log lines must not contain; none if the URL is only a host. */
function secretsOf(url: URL): string[] {
  const { href, protocol, username, password } = url;
  const beside = besideOf(url);
  if (`${username}${password}` === '' && beside.length === 0) return [];
  const keys = [username, ...beside].filter((place) => place.length >= keyMinLength);
  const sent = [basicOf(url)?.replace('Basic ', '') ?? '', plainOf(url)];
  return [href, href.slice(`${protocol}//`.length), password, ...sent, ...keys].flatMap((part) => [
    part,
    decodedOf(part),
  ]);
}

/** The parts of path and query that may be keys; other services' are a database or a bucket. */
function besideOf({ protocol, pathname, searchParams }: URL): string[] {
  if (/^https?:$/.test(protocol))
    return [...pathname.split('/'), ...searchParams.values()].filter(Boolean);
  return [...searchParams].filter(([name]) => name.endsWith('password')).map(([, value]) => value);
}

/** User and password as SMTP's AUTH PLAIN sends them. */
function plainOf({ username, password }: URL): string {
  const [user, secret] = [username, password].map(decodedOf);
  return secret === '' ? '' : Buffer.from(`\0${user}\0${secret}`).toString('base64');
}

function decodedOf(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function redact(line: string): string {
  let clean = line;
  for (const secret of hidden) clean = clean.replaceAll(secret, '[redacted]');
  for (const secret of secrets) {
    clean = clean.replace(secret, (match, kept?: unknown) => {
      if (match.startsWith('?') || match.startsWith('&')) return `${String(kept)}[redacted]`;
      return match.startsWith('://') ? `${String(kept)}[redacted]@` : '[redacted]';
    });
  }
  // guard: log-holds-no-secret (off: line)
  return clean;
}

/** Fields that a database adds to its errors: rows and values, which may contain callers' data. */
const rowFields = new Set(['detail', 'where', 'internalQuery', 'query', 'parameters']);

function serializeError(error: unknown): object {
  // A cause may be a plain string.
  if (typeof error !== 'object') return { message: String(error) };
  // Otherwise the log would show every numeric constant of DOMException.
  if (error instanceof DOMException) {
    const { name: type, message, stack } = error;
    return { type, message, stack };
  }
  // The serializer returns a value that is not an error unchanged.
  const fields = Object.entries(pino.stdSerializers.err(error as Error));
  const shown = fields.filter(([name, value]) => !rowFields.has(name) && isPlain(value));
  // If a host with several addresses cannot be reached, the error has one part per address and no
  // message.
  const parts = error instanceof AggregateError ? error.errors.slice(0, partsMax) : [];
  const errors = parts.length > 0 ? { errors: parts.map(serializeError) } : {};
  return { ...Object.fromEntries(shown), ...errors };
}

const partsMax = 5;

/**
 * Objects attached to an error are left out: they may contain anything, such as a connection with
 * its password.
 */
function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each !== 'object');
  return value === null || (typeof value !== 'object' && typeof value !== 'function');
}

/** Marks the fields of a line that cannot hold a secret. */
export const clean = Symbol('clean');

/**
 * One JSON object per line, on stderr or the given stream; secrets are removed from every line that
 * is not marked as `clean`.
 */
export function createLog(
  level: string,
  out: { write(line: string): unknown } = process.stderr,
): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: serializeError },
      mixin: () => activeSpan()?.ids ?? noSpan,
      mixinMergeStrategy: (line, ids) => (ids === noSpan ? line : { ...line, ...ids }),
    },
    lineSink(out),
  );
}

const noSpan = {};

/** Several processes may share a pipe; the system never parts writes of up to so many bytes. */
const wholeMax = 4_096;

/**
 * Clean lines are frequent, so they wait until the event loop comes round, and leave in one write.
 * Another line leaves at once, behind them.
 */
function lineSink(out: { write(line: string): unknown }) {
  let waiting = '';
  function flush(): void {
    const lines = waiting;
    waiting = '';
    if (lines !== '') out.write(lines);
  }
  return {
    // Makes pino set `lastObj` before each write.
    [Symbol.for('pino.metadata')]: true,
    lastObj: null as object | null,
    write(line: string): void {
      if (this.lastObj === null || !(clean in this.lastObj)) {
        flush();
        out.write(redact(line));
        return;
      }
      if (waiting.length + line.length > wholeMax) flush();
      if (waiting === '') setImmediate(flush);
      waiting += line;
    },
  };
}
