import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import {
  FareboxError,
  formatUsd,
  type ChatChunk,
  type Completion,
  type ChatInput,
  type Farebox,
  type Model,
  type RequestCard,
} from '../index.ts';
import { keyed } from './account.ts';
import { exits, Stop, usage } from './exits.ts';
import { chargeHint, failureMessage } from './failure.ts';
import { remarkOnUnread, stdinText } from './text.ts';
import { didYouMean, priceText } from './models.ts';
import type { Context } from './verb.ts';
import { readSettings } from './settings.ts';
import { jsonOf, paint, plain, print, printTable, remark, say, tell } from './terminal/terminal.ts';

interface ChatOptions {
  system?: string;
  maxTokens?: number;
}

type Message = ChatInput['messages'][number];

interface Talk {
  client: Farebox;
  models: Model[];
  model: string;
  system: string | undefined;
  max_tokens: number | undefined;
  messages: Message[];
  /** The sum of the known charges. */
  spent: bigint;
  /** Replies that were cancelled or broke off and whose charge is not known yet. */
  open: OpenReply[];
}

interface OpenReply {
  /** Our number of its call. */
  call_id: string;
  /** Known from the first chunk on. */
  id: string | undefined;
}

export async function chat(
  context: Context,
  first: string | undefined,
  rest: string[],
  options: ChatOptions,
): Promise<void> {
  const client = keyed(context);
  const all = await client.models.list();
  const models = all.filter(({ kind }) => kind === 'text');
  const words = first === undefined ? [] : [first, ...rest];
  const named = models.some(({ id }) => id === first);
  if (named) words.shift();
  else if (first !== undefined && looksLikeModel(first, all)) throw noTextModel(first, all);
  const talk: Talk = {
    client,
    models,
    model: named ? first! : usualModel(models),
    system: options.system,
    max_tokens: options.maxTokens,
    messages: [],
    spent: 0n,
    open: [],
  };
  const more = words.at(-1) === '-';
  if (more) words.pop();
  const message = words.join(' ');
  // If the command line has a message, stdin is read only if "-" asks for it.
  const reads = more || (message === '' && !process.stdin.isTTY);
  if (!reads) remarkOnUnread(context.quiet, 'put "-" after the message to add it.');
  const piped = reads ? (await stdinText()).trimEnd() : '';
  if (message !== '' || piped !== '' || !process.stdin.isTTY || context.json)
    await once(talk, [message, piped].filter(Boolean).join('\n\n'), context);
  else await converse(talk);
}

/**
 * Whether a word is meant as a model and not as a message: an id of the catalog, or a single word
 * that has a slash or looks like gpt-5.5.
 */
function looksLikeModel(text: string, all: Model[]): boolean {
  if (all.some(({ id }) => id === text)) return true;
  return /^[^\s/]+(\/[^\s/]+)+$/.test(text) || /^(?=\S*\d)[a-z][^\s-]*(-[^\s-]+)+$/i.test(text);
}

/** Throws unless the service offers this model for chats. */
export async function demandTextModel(client: Farebox, id: string): Promise<void> {
  const all = await client.models.list();
  if (!all.some((each) => each.id === id && each.kind === 'text')) throw noTextModel(id, all);
}

function noTextModel(text: string, all: Model[]): Stop {
  const other = all.find(({ id }) => id === text);
  if (other) {
    const makes = other.kind === 'image' ? 'images' : other.kind;
    return usage(`${text} cannot chat: it makes ${makes}.`, `Use \`fare run ${text}\`.`);
  }
  const able = all.filter(({ kind }) => kind === 'text');
  return new Stop(
    exits.usage,
    'unknown_model',
    `There is no text model ${text}.`,
    didYouMean(text, able, '`fare models --kind text` lists them.'),
  );
}

function usualModel(models: Model[]): string {
  const kept = readSettings().chat_model;
  if (kept) return kept;
  const [cheapest] = models.toSorted((a, b) => rateOf(a) - rateOf(b));
  if (cheapest) return cheapest.id;
  throw new Stop(exits.failed, 'no_match', 'The service offers no text model.');
}

function rateOf({ price }: Model): number {
  return typeof price === 'number' ? price : price.input + price.output;
}

async function once(talk: Talk, message: string, { json, quiet }: Context): Promise<void> {
  if (message === '') throw usage('There is no message.', 'Give a message, or pipe it in.');
  talk.messages.push({ role: 'user', content: message });
  const stop = new AbortController();
  const leave = () => stop.abort();
  process.once('SIGINT', leave);
  remark(quiet, `${modelLine(talk)}.`);
  try {
    if (json) print(jsonOf(await whole(talk, stop.signal)));
    else remark(quiet, await reply(talk, stop.signal));
  } catch (error) {
    if (!stop.signal.aborted || !(error instanceof FareboxError)) throw error;
    // A reply that is not streamed is always generated to its end.
    const isComplete = json || finishes(talk);
    const costs = leftText(error, isComplete, '`fare list`');
    if (!json) remark(quiet, costs);
    const charged = isComplete ? null : await chargeOf(talk, talk.open[0]);
    if (charged !== null) remark(quiet, `Charged ${formatUsd(charged)}.`);
    throw new Stop(exits.interrupted, 'interrupted', json ? costs : '');
  } finally {
    process.off('SIGINT', leave);
  }
}

/** Whether the model finishes its reply after its caller has left. */
function finishes({ models, model }: Talk): boolean {
  return models.find(({ id }) => id === model)?.on_disconnect === 'finish';
}

/** The cost of a reply whose caller left, in words; `where` says where the charge will be shown. */
function leftText(
  { mayHaveBeenAccepted }: FareboxError,
  isComplete: boolean,
  where: string,
): string {
  if (!mayHaveBeenAccepted) return 'Nothing was charged.';
  return isComplete
    ? `The model finishes this reply, and all of it is charged: ${where} shows it.`
    : `You may be charged for the part already received: ${where} shows it.`;
}

function whole(talk: Talk, signal: AbortSignal): Promise<Completion> {
  const { model, max_tokens, client } = talk;
  return client.chat.create({ model, messages: sent(talk), max_tokens }, { signal });
}

function sent({ system, messages }: Talk): Message[] {
  return system ? [{ role: 'system', content: system }, ...messages] : messages;
}

/** Streams one reply to stdout, keeps it in the conversation, and says what it cost. */
async function reply(talk: Talk, signal: AbortSignal): Promise<string> {
  const { client, model, max_tokens } = talk;
  const shown = process.stdout.isTTY ? plain : (text: string) => text;
  let text = '';
  let id: string | undefined;
  let usage: ChatChunk['usage'];
  const call_id = randomUUID();
  try {
    const request = { model, messages: sent(talk), max_tokens, stream: true } as const;
    for await (const chunk of await client.chat.create(request, { signal, callId: call_id })) {
      id = chunk.id.replace('chatcmpl-', '');
      usage = chunk.usage ?? usage;
      const part = chunk.choices[0]?.delta.content ?? '';
      text += part;
      process.stdout.write(shown(part));
    }
  } catch (error) {
    if (error instanceof FareboxError && error.mayHaveBeenAccepted) {
      // After Ctrl-C this does not wait for the charge; costText looks it up later.
      const left = { id, call_id };
      const charged =
        usage?.cost_usd_micro ??
        (signal.aborted || id === undefined ? null : await chargeOf(talk, left));
      if (charged !== null) error.details.charged_usd_micro = charged;
      else talk.open.push(left);
      talk.spent += charged ?? 0n;
    }
    throw error;
  } finally {
    if (text !== '' && !text.endsWith('\n')) process.stdout.write('\n');
    if (text !== '') talk.messages.push({ role: 'assistant', content: text });
  }
  if (!usage) return '';
  talk.spent += usage.cost_usd_micro;
  return `${formatUsd(usage.cost_usd_micro)} · ${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out`;
}

/** The charge, or null if the service does not know it within 2 seconds. */
async function chargeOf(talk: Talk, left: OpenReply | undefined): Promise<bigint | null> {
  if (left === undefined) return null;
  const { client } = talk;
  try {
    const requestId = await idOf(talk, left);
    if (requestId === null) return null;
    await client.status(requestId, {
      waitSeconds: 2,
      until: 'final',
      timeoutMs: 4_000,
      maxRetries: 0,
    });
    return (await client.requests.get(requestId, { timeoutMs: 2_000 })).charged_usd_micro;
  } catch {
    return null;
  }
}

/** The id of a reply, also if it ended before its first chunk. */
async function idOf({ client }: Talk, left: OpenReply): Promise<string | null> {
  const { call_id } = left;
  const call = { timeoutMs: 2_000, maxRetries: 0 };
  left.id ??= (await client.requests.list({ call_id }, call)).data[0]?.request_id;
  return left.id ?? null;
}

/** `$0.01 so far.`, and the most that interrupted replies may still cost. */
async function costText(talk: Talk, when: string): Promise<string> {
  const call = { timeoutMs: 2_000, maxRetries: 0 };
  const cards: (RequestCard | null)[] = [];
  for (const left of talk.open) {
    const id = await idOf(talk, left).catch(() => null);
    cards.push(id === null ? null : await talk.client.requests.get(id, call).catch(() => null));
  }
  let most: bigint | null = 0n;
  talk.open = talk.open.filter((_, i) => {
    const { charged_usd_micro: charged = null, quoted_usd_micro = null } = cards[i] ?? {};
    if (charged === null) most = quoted_usd_micro && most !== null ? most + quoted_usd_micro : null;
    else talk.spent += charged;
    return charged === null;
  });
  const known = formatUsd(talk.spent);
  if (talk.open.length === 0) return `${known} ${when}.`;
  const rest = most === null ? 'an amount not known yet' : `at most ${formatUsd(most)}`;
  const replies = talk.open.length === 1 ? 'a reply' : `${talk.open.length} replies`;
  return `${known} ${when}, and ${rest} for ${replies} not charged yet: see \`fare list\`.`;
}

const helpRows = [
  ['/model [ID]', 'use another model; without an id: list the models'],
  ['/system [TEXT]', 'set instructions for the model; without a text: remove them'],
  ['/new', 'start a new conversation'],
  ['/cost', 'show what the conversation has cost so far'],
  ['/exit', 'end the conversation, like Ctrl-D'],
];

async function converse(talk: Talk): Promise<void> {
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    prompt: paint(process.stderr, 'bold', '> '),
    completer: (line: string): [string[], string] => [candidates(talk, line), line],
    historySize: 200,
  });
  say('dim', `${modelLine(talk)}. /help for more, Ctrl-D to end.`);
  let replying: AbortController | null = null;
  let over = false;
  lines.on('SIGINT', () => (replying ? replying.abort() : lines.close()));
  lines.once('close', () => (over = true));
  lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    replying = new AbortController();
    if (text.startsWith('/')) {
      if (!(await command(talk, text))) break;
    } else if (text !== '') await answer(talk, text, replying.signal);
    replying = null;
    if (over) break;
    lines.prompt();
  }
  lines.close();
  say('dim', `\n${await costText(talk, 'in all')}`);
}

/** Answers one message. An error ends the reply, not the conversation. */
async function answer(talk: Talk, text: string, signal: AbortSignal): Promise<void> {
  talk.messages.push({ role: 'user', content: text });
  try {
    say('dim', await reply(talk, signal));
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    // Removes the unanswered message: sent again, it would be in the list twice.
    if (talk.messages.at(-1)?.role === 'user') talk.messages.pop();
    if (signal.aborted) return say('dim', leftText(error, finishes(talk), '/cost'));
    say('red', failureMessage(error));
    say('dim', chargeHint(error) ?? 'Nothing was charged.');
  }
}

function modelLine({ models, model }: Talk): string {
  const found = models.find(({ id }) => id === model);
  return found ? `${model}, ${priceText(found)}` : model;
}

/** Runs a command such as `/model`; false ends the conversation. */
async function command(talk: Talk, text: string): Promise<boolean> {
  const [name, ...rest] = text.split(/\s+/);
  const argument = rest.join(' ');
  if (name === '/exit' || name === '/quit') return false;
  if (name === '/new') {
    talk.messages = [];
    say('dim', 'New conversation started.');
  } else if (name === '/cost') say('dim', await costText(talk, 'so far'));
  else if (name === '/system') {
    talk.system = argument || undefined;
    say(
      'dim',
      argument ? 'The instructions apply from the next message on.' : 'Instructions removed.',
    );
  } else if (name === '/model') changeModel(talk, argument);
  else printTable(['COMMAND', 'DESCRIPTION'], helpRows);
  return true;
}

function changeModel(talk: Talk, id: string): void {
  if (id === '') {
    printTable(
      ['MODEL', 'PRICE'],
      talk.models.map((model) => [model.id, priceText(model)]),
    );
  } else if (talk.models.some((model) => model.id === id)) {
    talk.model = id;
    say('dim', `${modelLine(talk)}.`);
  } else tell(`There is no text model ${id}. /model lists them.`);
}

function candidates({ models }: Talk, line: string): string[] {
  if (line.startsWith('/model ')) {
    return models.map(({ id }) => `/model ${id}`).filter((each) => each.startsWith(line));
  }
  return helpRows.map(([each]) => each!.split(' ')[0]!).filter((each) => each.startsWith(line));
}
