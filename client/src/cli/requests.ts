import { formatUsd, type RequestLine, type Status } from '../index.ts';
import { about, keyed } from './account.ts';
import { exits, Stop } from './exits.ts';
import { follow, unsuccessful } from './jobs/follow.ts';
import { readPairs } from './metadata.ts';
import { requestIdOf } from './jobs/jobs.ts';
import type { Context } from './verb.ts';
import { saveOutput } from './jobs/save.ts';
import { checkOut } from './jobs/target.ts';
import {
  jsonOf,
  oneLine,
  print,
  printFields,
  printJson,
  printTable,
  remark,
  secondsText,
} from './terminal/terminal.ts';
import { mediaIn } from '../outputs.ts';

/** Verbs on requests, whether they were submitted here or elsewhere. */

interface ListOptions {
  status?: Status['status'];
  model?: string;
  metadata?: string[];
  callId?: string;
  limit: number;
}

export async function list(
  { json, quiet }: Context,
  { status, model, callId: call_id, limit, ...given }: ListOptions,
): Promise<void> {
  const found: RequestLine[] = [];
  const metadata = readPairs(given.metadata);
  const filter = { status, model_id: model, call_id, metadata, limit: Math.min(limit, 100) };
  for await (const line of keyed({ quiet }).requests.all(filter)) {
    if (json) printJson(line);
    found.push(line);
    if (found.length >= limit) break;
  }
  if (json) return;
  if (found.length === 0) return remark(false, 'No requests found.');
  printTable(
    ['REQUEST', 'STATUS', 'PRICE', 'WHEN', 'MODEL'],
    found.map((line) => [
      line.request_id,
      line.error_code ? `${line.status} ${line.error_code}` : line.status,
      formatUsd(line.charged_usd_micro ?? line.quoted_usd_micro),
      whenText(line.created_at),
      line.model_id,
    ]),
  );
}

/** A readable time in a terminal, the exact instant in a pipe. */
function whenText(iso: string): string {
  if (!process.stdout.isTTY) return iso;
  const ms = Date.now() - Date.parse(iso);
  if (ms < 0 || ms > 86_400_000) return iso.slice(0, 10);
  return `${ms < 3_600_000 ? secondsText(ms).split(' ').slice(0, 2).join(' ') : `${Math.floor(ms / 3_600_000)} h`} ago`;
}

export async function status({ json, quiet }: Context, id: string): Promise<void> {
  const client = keyed({ quiet });
  const card = await client.requests.get(requestIdOf(id));
  const now = await client.status(card.request_id);
  if (json)
    return printJson({
      ...now,
      quoted_usd_micro: card.quoted_usd_micro,
      charged_usd_micro: card.charged_usd_micro,
    });
  const { error } = now;
  printFields([
    ['request', card.request_id],
    ['model', card.model_id],
    ['status', now.status],
    ['ahead', now.queue_position === undefined ? null : String(now.queue_position)],
    ['progress', now.progress === undefined ? null : `${Math.round(now.progress * 100)}%`],
    ['error', error ? `${error.message} (${error.code})` : null],
    ['reserved', formatUsd(card.quoted_usd_micro)],
    ['charged', card.charged_usd_micro === null ? 'not yet' : formatUsd(card.charged_usd_micro)],
    ['submitted', card.created_at],
    ['ended', card.completed_at],
    ['cancel asked', card.cancel_requested_at],
    ['call', card.call_id],
    ['your number', card.caller_id],
    [
      'outputs',
      card.output_urls.length > 0
        ? `${card.output_urls.length}, kept until ${card.expires_at}`
        : null,
    ],
    ...Object.entries(card.metadata).map(([name, value]): [string, string] => [
      `metadata.${name}`,
      value,
    ]),
    ['said', now.logs?.at(-1)],
  ]);
}

export async function wait({ json, quiet }: Context, id: string): Promise<void> {
  const end = await follow(keyed({ quiet }), requestIdOf(id), { quiet, cancels: false });
  if (end.status !== 'COMPLETED') throw unsuccessful(end);
  if (json) printJson(end);
  else print(oneLine(end.status));
}

export async function cancel(
  { json, quiet }: Context,
  id: string,
  { running = false }: { running?: boolean },
): Promise<void> {
  const request_id = requestIdOf(id);
  const done = await about({ request_id }, keyed({ quiet }).cancel(request_id, { running }));
  if (json) return printJson(done);
  if (done.status === 'CANCELLED') return remark(quiet, 'Cancelled. Nothing was charged.');
  remark(quiet, `The model is asked to stop. \`fare wait ${request_id}\` waits for the end.`);
}

export async function result({ json, quiet }: Context, id: string): Promise<void> {
  const request_id = requestIdOf(id);
  const output = await about({ request_id }, keyed({ quiet }).response(request_id));
  print(jsonOf(output, json || !process.stdout.isTTY ? undefined : 2));
}

export async function download(
  { json, quiet }: Context,
  id: string,
  {
    out = null,
    force = false,
    preview,
  }: { out?: string | null; force?: boolean; preview: boolean },
): Promise<void> {
  const client = keyed({ quiet });
  const requestId = requestIdOf(id);
  const [card, output] = await Promise.all([
    client.requests.get(requestId),
    about({ request_id: requestId }, client.response(requestId)),
  ]);
  const count = mediaIn(output).length;
  checkOut(out, { force, count: Math.max(1, count), isText: count === 0 });
  const how = { out, folder: process.cwd(), force, quiet, json, preview };
  const files = await saveOutput(client, card, output, how);
  if (json) return printJson({ request_id: requestId, files });
  if (mediaIn(output).length === 0 && typeof output.text !== 'string')
    throw new Stop(
      exits.failed,
      'no_output',
      `This request has no files; \`fare result ${requestId}\` shows its output.`,
    );
}
