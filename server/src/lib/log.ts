import pino, { type Logger } from 'pino';

/** Matches everything that looks like a secret, ours or an upstream's, anywhere in a line. */
const secrets = [
  /fbx_[0-9A-Za-z]{38}/g,
  /whsec_[0-9A-Za-z+/=]{16,}/g,
  /\b(sk|r8|gsk)[-_][0-9A-Za-z_-]{16,}/g,
  /\b(Bearer|Key|Basic) [0-9A-Za-z._~+/:=-]{12,}/gi,
  /([?&]sig=)[0-9A-Za-z_-]{20,}/g,
  /(:\/\/[^\s:@/"]+:)[^\s@/"]+@/g,
];

/** Shorter secrets would cut into ordinary words. */
const hiddenMinLength = 8;
/** Secrets in use, of any form; the longest first. */
let hidden: string[] = [];

/** From now on no log line contains this text; of a key `id:secret`, neither half. */
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
  // guard: log-holds-no-secret (off: line)
  return clean;
}

/** Fields that a database adds to its errors: rows and values, which may hold callers' data. */
const rowFields = new Set(['detail', 'where', 'internalQuery', 'query', 'parameters']);

function serializeError(error: unknown): object {
  // A cause may be a plain text.
  if (typeof error !== 'object') return { message: String(error) };
  // Otherwise the log would show every numeric constant of the standard.
  if (error instanceof DOMException) {
    const { name: type, message, stack } = error;
    return { type, message, stack };
  }
  // It returns what is no error as it is.
  const fields = Object.entries(pino.stdSerializers.err(error as Error));
  const shown = fields.filter(([name, value]) => !rowFields.has(name) && isPlain(value));
  // A host with several addresses fails with one error for each and no message of its own.
  const parts = error instanceof AggregateError ? error.errors.slice(0, partsMax) : [];
  const errors = parts.length > 0 ? { errors: parts.map(serializeError) } : {};
  return { ...Object.fromEntries(shown), ...errors };
}

const partsMax = 5;

/** An object attached to an error may hold anything, such as a connection with its password. */
function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each !== 'object');
  return value === null || (typeof value !== 'object' && typeof value !== 'function');
}

/** One JSON object a line, on stderr or the given stream; secrets are cut out of every line. */
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
