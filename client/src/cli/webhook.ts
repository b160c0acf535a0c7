import { createServer, type IncomingMessage } from 'node:http';
import { FareboxError, formatUsd, verifyWebhook } from '../index.ts';
import { usage } from './exits.ts';
import { stdinText } from './text.ts';
import type { Context } from './verb.ts';
import { cut, jsonOf, oneLine, paint, print, remark, tell } from './terminal/terminal.ts';
import { objectOf } from '../unknown.ts';

/** Far above what the service sends. */
const bodyMost = 1 << 20;

/**
 * Maximum number of unverified notifications shown per second. Anybody can send them, and more
 * lines would hide the verified ones.
 */
const doubtfulMost = 10;

/** Shows each notification and whether the service signed it, until Ctrl-C. */
export async function listen(
  context: Context,
  options: { port: number; secretStdin?: boolean; forwardTo?: string },
): Promise<void> {
  const secret = await secretsOf(options.secretStdin ?? false);
  if (options.forwardTo !== undefined)
    return (await import('./jobs/forward.ts')).forward(context, options.forwardTo, secret);
  const show = shower(context.json);
  const server = createServer((req, res) => {
    answer(req, secret, show).then(
      (status) => res.writeHead(status).end(),
      // The sender disconnected in mid-body.
      () => res.destroy(),
    );
  });
  const refused = new Promise<never>((_resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        usage(`Port ${options.port} cannot be used: ${error.message}`, 'Give another with --port.'),
      ),
    );
  });
  server.listen(options.port, '127.0.0.1');
  await Promise.race([new Promise((go) => server.once('listening', go)), refused]);
  remark(context.quiet, `Listening on http://127.0.0.1:${options.port}. Ctrl-C ends it.`);
  if (secret === undefined)
    tell(
      'Without FAREBOX_WEBHOOK_SECRET nothing is verified: anybody could have sent these notifications.',
    );
  await Promise.race([
    new Promise((end) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
    }),
    refused,
  ]);
  server.close();
  server.closeAllConnections();
}

/**
 * The webhook secrets, from stdin or the environment. Not from the command line: other users of
 * this machine can see it, and it stays in the shell's history.
 */
async function secretsOf(fromStdin: boolean): Promise<string[] | undefined> {
  const text = fromStdin ? await stdinText() : process.env.FAREBOX_WEBHOOK_SECRET;
  const secrets = text?.split(/\s+/).filter(Boolean) ?? [];
  if (!secrets.every(isSecret) || (fromStdin && secrets.length === 0))
    throw usage('A webhook secret is whsec_ followed by base64 of at least 24 bytes.');
  return secrets.length > 0 ? secrets : undefined;
}

/** Checked at the start, because each notification is sent once: a wrong secret would lose it. */
function isSecret(text: string): boolean {
  return /^whsec_[\w+/=-]+$/.test(text) && Buffer.from(text.slice(6), 'base64').length >= 24;
}

type Show = (said: ReceivedWebhook) => void;

/** Handles one call and returns the status to answer with. */
async function answer(
  req: IncomingMessage,
  secret: string[] | undefined,
  show: Show,
): Promise<number> {
  if (req.method !== 'POST') return 405;
  // Only browsers send an Origin: an open web page is not the service.
  if (req.headers.origin !== undefined) return 403;
  const body = await bodyOf(req);
  if (body === null) return 413;
  const said = await judge(body, req, secret);
  show(said);
  return said.verified === false ? 400 : 204;
}

interface ReceivedWebhook {
  /** Null if there was no secret to verify with. */
  verified: boolean | null;
  why: string | null;
  webhook_id: string | null;
  /** Any JSON; its shape is certain only if it is verified. */
  event: unknown;
}

type Fields = Record<string, unknown>;

async function judge(
  body: Buffer,
  req: IncomingMessage,
  secret: string[] | undefined,
): Promise<ReceivedWebhook> {
  const webhook_id = String(req.headers['webhook-id'] ?? '') || null;
  if (secret === undefined) return { verified: null, why: null, webhook_id, event: parsed(body) };
  try {
    const event = await verifyWebhook({ body, headers: req.headers, secret });
    return { verified: true, why: null, webhook_id, event };
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    return { verified: false, why: error.message, webhook_id, event: parsed(body) };
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

/** Shows every verified notification, and a limited number of the others per second. */
function shower(json: boolean): Show {
  let second = 0;
  let shown = 0;
  let hidden = 0;
  return (said) => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) {
      if (hidden > 0) tell(`${hidden} more unverified notifications are not shown.`);
      second = now;
      shown = hidden = 0;
    }
    if (said.verified === true || shown++ < doubtfulMost) print(json ? jsonOf(said) : lineOf(said));
    else hidden++;
  };
}

function lineOf({ verified, why, event }: ReceivedWebhook): string {
  const mark =
    verified === null
      ? paint(process.stdout, 'yellow', 'not verified')
      : verified
        ? paint(process.stdout, 'green', 'verified')
        : paint(process.stdout, 'red', 'rejected');
  const told = objectOf(event);
  const parts = [textOf(told.status), textOf(told.request_id), textOf(told.model_id)];
  const what = [...parts, priceOf(told)].filter(Boolean).join(' ');
  return `${mark}  ${what || 'no content'}${why ? `: ${oneLine(why)}` : ''}`;
}

/** Longer than any field of the service. */
const fieldMost = 200;

function textOf(value: unknown): string {
  return typeof value === 'string' ? cut(oneLine(value), fieldMost) : '';
}

function priceOf({ charged_usd_micro }: Fields): string {
  const micro =
    typeof charged_usd_micro === 'bigint' ? String(charged_usd_micro) : charged_usd_micro;
  return typeof micro === 'string' && /^\d{1,18}$/.test(micro) ? formatUsd(BigInt(micro)) : '';
}

/** The body, or null if it is too large. */
async function bodyOf(req: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let size = 0;
  // Without an encoding, a request yields buffers.
  for await (const part of req as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > bodyMost) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
