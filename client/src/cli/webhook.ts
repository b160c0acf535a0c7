import { createServer, type IncomingMessage } from 'node:http';
import { FareboxError, formatUsd, verifyWebhook, type WebhookEvent } from '../index.ts';
import { usage } from './exits.ts';
import type { Context } from './program.ts';
import { jsonOf, oneLine, paint, print, remark, tell } from './terminal.ts';

/** What the service sends is far smaller. */
const bodyMost = 1 << 20;

/** Until Ctrl-C: shows each notification and whether it is the service's. */
export async function listen(
  context: Context,
  options: { port: number; secret?: string },
): Promise<void> {
  const secret = options.secret ?? process.env.FAREBOX_WEBHOOK_SECRET?.split(/\s+/).filter(Boolean);
  const server = createServer(async (req, res) => {
    const body = req.method === 'POST' ? await bodyOf(req) : null;
    if (body === null) {
      res.writeHead(req.method === 'POST' ? 413 : 405).end();
      return;
    }
    const said = await judge(body, req, secret);
    res.writeHead(said.verified === false ? 400 : 204).end();
    show(said, context.json);
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
      'Without FAREBOX_WEBHOOK_SECRET nothing is verified: anybody could have sent what is shown.',
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

interface Said {
  /** Null: there was no secret to verify with. */
  verified: boolean | null;
  why: string | null;
  webhook_id: string | null;
  event: WebhookEvent | null;
}

async function judge(
  body: Buffer,
  req: IncomingMessage,
  secret: string | string[] | undefined,
): Promise<Said> {
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

function parsed(body: Buffer): WebhookEvent | null {
  try {
    return JSON.parse(body.toString('utf8')) as WebhookEvent;
  } catch {
    return null;
  }
}

function show({ verified, why, webhook_id, event }: Said, json: boolean): void {
  if (json) return print(jsonOf({ verified, why, webhook_id, event }));
  const mark =
    verified === null
      ? paint(process.stdout, 'yellow', 'not verified')
      : verified
        ? paint(process.stdout, 'green', 'verified')
        : paint(process.stdout, 'red', 'FORGED');
  const what = event
    ? `${event.status} ${event.request_id} ${event.model_id} ${priceOf(event)}`
    : 'no JSON';
  print(`${mark}  ${oneLine(what)}`);
  if (why) print(`  ${oneLine(why)}`);
}

function priceOf({ charged_usd_micro }: WebhookEvent): string {
  if (charged_usd_micro === null || charged_usd_micro === undefined) return '';
  return /^\d+$/.test(String(charged_usd_micro)) ? formatUsd(BigInt(charged_usd_micro)) : '';
}

/** Null where it is too large. */
async function bodyOf(req: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of req) {
    size += (part as Buffer).length;
    if (size > bodyMost) return null;
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts);
}
