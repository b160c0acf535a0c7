import pino, { type Logger } from 'pino';

/**
 * Text of anything that looks like a secret of ours or of an upstream, wherever it stands in a
 * line.
 */
const secrets = [
  /fbx_[0-9A-Za-z]{38}/g,
  /whsec_[0-9A-Za-z+/=]{16,}/g,
  /\b(sk|r8|gsk)[-_][0-9A-Za-z_-]{16,}/g,
  /\b(Bearer|Key|Basic) [0-9A-Za-z._~+/:=-]{12,}/gi,
  /([?&]sig=)[0-9A-Za-z_-]{20,}/g,
  /(:\/\/[^\s:@/"]+:)[^\s@/"]+@/g,
];

/** Shorter ones would cut into words that are no secrets. */
const hiddenMinLength = 8;
/** Secrets that are in use, whatever form they have; the longest first. */
let hidden: string[] = [];

/** From now on this text is in no line of any log; of a key `id:secret` neither half is. */
export function hideInLogs(secret: string): void {
  const parts = [secret, ...secret.split(':')].map((part) => part.trim());
  const written = parts.flatMap((part) => [
    part,
    JSON.stringify(part).slice(1, -1),
    encodeURIComponent(part),
  ]);
  const all = new Set([...hidden, ...written.filter((part) => part.length >= hiddenMinLength)]);
  hidden = [...all].toSorted((a, b) => b.length - a.length);
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
  return clean;
}

/** What a database adds to its errors: rows and values, and so whatever callers sent. */
const rowFields = new Set(['detail', 'where', 'internalQuery', 'query', 'parameters']);

function serializeError(error: unknown): object {
  // A cause may be a few words only.
  if (typeof error !== 'object') return { message: String(error) };
  // It would show every number that the standard has given to a name.
  if (error instanceof DOMException) {
    const { name: type, message, stack } = error;
    return { type, message, stack };
  }
  const fields = Object.entries(pino.stdSerializers.err(error as Error));
  const shown = fields.filter(([name, value]) => !rowFields.has(name) && isPlain(value));
  // Of a host with several addresses: one for each, and no message of its own.
  const parts = error instanceof AggregateError ? error.errors.slice(0, partsMax) : [];
  const errors = parts.length > 0 ? { errors: parts.map(serializeError) } : {};
  return { ...Object.fromEntries(shown), ...errors };
}

const partsMax = 5;

/** An object at an error may be all that was at work: a connection, with its password. */
function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each !== 'object');
  return value === null || (typeof value !== 'object' && typeof value !== 'function');
}

/**
 * One JSON object a line, on stderr or the given stream; no line leaves without its secrets cut
 * out.
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
    },
    { write: (line: string) => void out.write(redact(line)) },
  );
}
