import { createHmac, randomBytes } from 'node:crypto';
import { formatUsd, isFinal, type Farebox, type RequestCard } from '../../index.ts';
import { pause } from '../../scope.ts';
import { keyed } from '../account.ts';
import { usage } from '../exits.ts';
import type { Context } from '../verb.ts';
import { jsonOf, oneLine, paint, print, printJson, tell } from '../terminal/terminal.ts';

/**
 * Posts the signed card of each media request to a given address once the request ends, as a
 * webhook would. No tunnel is needed, because this command polls the service.
 */

const pollMs = 2_000;
/** A request may appear in the list a little later than a newer one. */
const overlapMs = 10_000;
/** The same limit as the service has for the answer to a notification. */
const answerMs = 10_000;
/** The number of newest requests that the first round reads. */
const firstMost = 200;
/** The number of older open requests that each round reads. */
const olderMost = 20;
/** Enough to outlast a restart of the service. */
const maxRetries = 20;

export async function forward(
  { json, quiet }: Context,
  url: string,
  secrets: string[] | undefined,
): Promise<void> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw usage('--forward-to must be an http or https address.');
  const client = keyed({ quiet });
  const secret = secrets?.[0] ?? `whsec_${randomBytes(32).toString('base64')}`;
  const leaving = new AbortController();
  for (const by of ['SIGINT', 'SIGTERM'] as const) process.once(by, () => leaving.abort());
  const begun = () => {
    if (secrets === undefined) tell(`Signed with ${secret}`);
    if (!quiet) tell(`Forwarding to ${oneLine(url)}. Ctrl-C ends it.`);
  };
  try {
    for await (const card of ended(client, leaving.signal, begun)) {
      const answer = await post(url, card, secret, leaving.signal);
      const { request_id, status } = card;
      if (json) printJson({ request_id, status, ...answer });
      else print(lineOf(card, answer));
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
  }
}

/** Yields the card of each media request that ends after the command began, once it is noticed. */
async function* ended(
  client: Farebox,
  signal: AbortSignal,
  begun: () => void,
): AsyncGenerator<RequestCard> {
  const call = { signal, maxRetries };
  const open = new Set<string>();
  /** Ended requests that the next round may read again, with the time of their creation. */
  const past = new Map<string, number>();
  let since = -Infinity;
  for (let round = 0; ; round++) {
    const found: string[] = [];
    const shown = new Set<string>();
    let newest = since;
    for await (const line of client.requests.all({ limit: 100 }, call)) {
      const { request_id: id, kind, created_at } = line;
      const created = Date.parse(created_at);
      if (created < since - overlapMs || (round === 0 && shown.size >= firstMost)) break;
      newest = Math.max(newest, created);
      shown.add(id);
      // A chat is answered directly and has no webhook.
      if (kind === 'text' || past.has(id)) continue;
      if (!isFinal(line)) open.add(id);
      else {
        past.set(id, created);
        if (open.delete(id) || round > 0) found.push(id);
      }
    }
    if (round === 0) begun();
    for (const id of found.toReversed()) yield await client.requests.get(id, call);
    for (const id of [...open].filter((each) => !shown.has(each)).slice(0, olderMost)) {
      const card = await client.requests.get(id, call);
      open.delete(id);
      if (isFinal(card)) yield card;
      // Moves to the end of the set, so that the next round reads other requests first.
      else open.add(id);
    }
    since = newest;
    for (const [id, created] of past) if (created < since - overlapMs) past.delete(id);
    await pause(pollMs, signal);
  }
}

interface Answer {
  /** The HTTP status; null if there was no answer. */
  answer: number | null;
  why: string | null;
}

async function post(
  url: string,
  { input: _input, ...card }: RequestCard,
  secret: string,
  leaving: AbortSignal,
): Promise<Answer> {
  const body = jsonOf(card);
  const stamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${card.request_id}.${stamp}.${body}`)
    .digest('base64');
  const limit = new AbortController();
  const stop = () => limit.abort();
  const timer = setTimeout(stop, answerMs);
  leaving.addEventListener('abort', stop, { once: true });
  try {
    const reply = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal: limit.signal,
      headers: {
        'content-type': 'application/json',
        'webhook-id': card.request_id,
        'webhook-timestamp': stamp,
        'webhook-signature': `v1,${signature}`,
      },
      body,
    });
    await reply.body?.cancel();
    return { answer: reply.status, why: null };
  } catch (error) {
    const { cause, message } = error as Error;
    const late = `no answer within ${answerMs / 1000} s`;
    const why = limit.signal.aborted ? late : cause instanceof Error ? cause.message : message;
    return { answer: null, why: oneLine(why) };
  } finally {
    clearTimeout(timer);
    leaving.removeEventListener('abort', stop);
  }
}

function lineOf(card: RequestCard, { answer, why }: Answer): string {
  const isTaken = answer !== null && answer >= 200 && answer < 300;
  const mark = paint(
    process.stdout,
    isTaken ? 'green' : 'red',
    answer === null ? '---' : String(answer),
  );
  const { status, request_id, model_id, charged_usd_micro: charged } = card;
  const price = charged === null ? '' : ` ${formatUsd(charged)}`;
  return `${mark}  ${status} ${request_id} ${oneLine(model_id)}${price}${why ? `: ${why}` : ''}`;
}
