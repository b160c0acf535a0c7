import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

/** Shared by both servers: taking a webhook, comparing its signature, crediting at Farebox. */

const bodyMaxBytes = 256 * 1024;
const { FAREBOX_BASE_URL = 'http://localhost:8080/v1', PORT = '8091' } = process.env;

/** A refused webhook, which credits nothing. Payment services repeat it until the reply is 2xx. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The value of a variable. Throws if it is not set. */
export function need(name) {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}`);
  return value;
}

/** Serves webhooks. `handle` gets the signed bytes and returns a line for the log. */
export function serve(handle) {
  const server = createServer(async (req, res) => {
    const reply = (status, text) => {
      console.log(status, text);
      res.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
    };
    try {
      if (req.method !== 'POST') throw new Refusal(405, 'send a POST');
      reply(200, await handle(await bytesOf(req), req.headers));
    } catch (error) {
      reply(error instanceof Refusal ? error.status : 500, error.message);
    }
  });
  server.listen(Number(PORT), () => console.log('listening on port', server.address().port));
}

async function bytesOf(req) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > bodyMaxBytes) throw new Refusal(413, 'the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Compares in constant time, so that a stranger cannot guess a signature byte by byte. */
export function isSigned(secret, parts, signature) {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  const [wanted, given] = [hmac.digest(), Buffer.from(signature, 'hex')];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Only these amounts are credited. */
const sold = need('AMOUNTS_USD').split(' ');
const soldCents = new Set(sold.map((usd) => Math.round(Number(usd) * 100)));
const operatorKey = need('FAREBOX_OPERATOR_KEY');

/**
 * Credits a payment once: Farebox books each `reference` once, however often it is sent. Throws
 * `Refusal` if the payment was not credited.
 */
export async function credit({ account_id, currency, cents, reference }) {
  if (currency.toLowerCase() !== 'usd' || !soldCents.has(cents))
    throw new Refusal(422, `${reference}: ${cents} cents in ${currency} were not sold here`);
  const call = `${FAREBOX_BASE_URL}/operator/accounts/${encodeURIComponent(account_id)}/credits`;
  const reply = await fetch(call, {
    method: 'POST',
    headers: { authorization: `Key ${operatorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ amount_usd_micro: `${cents}0000`, reference, source: 'paid' }),
    signal: AbortSignal.timeout(10_000),
  }).catch((error) => {
    throw new Refusal(502, `${reference}: Farebox does not answer: ${error.message}`);
  });
  const text = await reply.text();
  if (!reply.ok) throw new Refusal(502, `${reference}: Farebox answered ${reply.status}: ${text}`);
  return `${reference}: ${JSON.parse(text).replayed ? 'was credited before' : 'credited'}`;
}
