import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Shorter replies fit into one packet uncompressed. */
const leastChars = 1_400;
/** Maximum number of compressed copies per encoding, of texts that are the same for everyone. */
const copiesMax = 64;

/** The API, and the pages that are the same for everyone. */
const compressed = /^\/(v1\/|(docs|models)(\/\*)?$|llms\.txt$)/;

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);
const encoders: Record<string, (text: string) => Promise<Buffer>> = {
  br: (text) => brotli(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (text) => zip(text),
};

/**
 * Compresses texts and drawings of the API and public pages, but no streams or media, for callers
 * who ask for it. Replies to the dashboard are not compressed: its calls carry a cookie, so another
 * page could repeat them and guess a secret from the length of the replies. Calls of the API carry
 * a key, which a browser never sends by itself.
 */
export function compressReplies(app: FastifyInstance): void {
  const kept = new Map(
    Object.keys(encoders).map((name) => [name, new Map<string, Promise<Buffer>>()]),
  );
  app.addHook('onSend', async (req, reply, payload) => {
    if (typeof payload !== 'string' || payload.length < leastChars || !isOurs(req, reply))
      return payload;
    addVary(reply);
    const encoding = wantedEncoding(req.headers['accept-encoding']);
    if (encoding === null) return payload;
    reply.header('content-encoding', encoding).removeHeader('content-length');
    if (!String(reply.getHeader('cache-control')).startsWith('public'))
      return encoders[encoding]!(payload);
    const copies = kept.get(encoding)!;
    const copy = copies.get(payload) ?? encoders[encoding]!(payload);
    copies.delete(payload);
    copies.set(payload, copy);
    if (copies.size > copiesMax) copies.delete(copies.keys().next().value!);
    return copy;
  });
}

function isOurs({ routeOptions }: FastifyRequest, reply: FastifyReply): boolean {
  if (!compressed.test(routeOptions.url ?? '')) return false;
  if (reply.statusCode === 204 || reply.statusCode === 304) return false;
  const type = String(reply.getHeader('content-type') ?? 'application/json');
  return (
    /^(application\/json|text\/(plain|html|markdown)|image\/svg\+xml)/.test(type) &&
    !reply.hasHeader('content-encoding')
  );
}

function addVary(reply: FastifyReply): void {
  const other = reply.getHeader('vary');
  reply.header(
    'vary',
    other === undefined ? 'accept-encoding' : `${String(other)}, accept-encoding`,
  );
}

/** The best encoding that the caller accepts, or null. */
function wantedEncoding(header: string | undefined): string | null {
  if (header === undefined) return null;
  const taken = new Set<string>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim());
    const isRefused = parameters.some((each) => /^q=0(\.0*)?$/.test(each));
    if (!isRefused) taken.add(name);
  }
  return Object.keys(encoders).find((name) => taken.has(name)) ?? null;
}
