import { isCount, isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { isFilled, isGiven, type Check } from '../check.ts';
import { badMessages } from '../chat/chat-messages.ts';
import { growDetails } from '../chat/reasoning-details.ts';
import { reasoningOf } from './responses-reasoning.ts';
import { flatName } from './responses-tools.ts';
import type { Part, Turn } from './turn.ts';

/** Reads `input` of OpenAI's Responses, a text or a list of items, as the messages of a chat. */

/**
 * Maximum number of pieces of reasoning: more than a long conversation has. Each piece is compared
 * with earlier ones.
 */
const detailsMax = 4_096;

interface Turns {
  all: Turn[];
  /** Media of tool outputs. They follow the tool messages, which can only hold text. */
  media: Part[];
  /** Pieces of reasoning so far. */
  details: number;
  /** Pieces of reasoning from items that this service did not write. */
  foreign: Set<Json>;
}

const kinds: Readonly<Record<string, (item: Json, at: string, turns: Turns) => void>> = {
  message: addMessage,
  reasoning: addReasoning,
  function_call: (item, at, turns) => {
    const name = flatName(item.namespace, filled(item, 'name', at));
    const own = { name, arguments: text(item, 'arguments', at) };
    addCall(item, at, turns, { type: 'function', function: own });
  },
  custom_tool_call: (item, at, turns) => {
    const name = flatName(item.namespace, filled(item, 'name', at));
    addCall(item, at, turns, { type: 'custom', custom: { name, input: text(item, 'input', at) } });
  },
  function_call_output: addOutput,
  custom_tool_call_output: addOutput,
};

/**
 * Consecutive items of the assistant become one message, and so do consecutive system messages,
 * because the templates of many models take only one.
 *
 * @throws ApiError `bad_messages`, which names the item or its field
 */
export function readInput({ input, instructions }: Json): Turn[] {
  const turns: Turns = { all: [], media: [], details: 0, foreign: new Set() };
  if (isFilled(instructions)) addSystem(turns, instructions, 'instructions');
  if (typeof input === 'string') {
    turns.all.push({ message: { role: 'user', content: input }, at: 'input', parts: [] });
    return turns.all;
  }
  if (!Array.isArray(input)) throw badMessages('input', 'must be a string or a list of items');
  if (input.length === 0) throw badMessages('input', 'must hold at least one item');
  input.forEach((item: unknown, i) => addItem(item, `input[${i}]`, turns));
  flushMedia(turns);
  return turns.all.filter(({ message }) => message.role !== 'assistant' || says(message));
}

function addItem(item: unknown, at: string, turns: Turns): void {
  if (!isObject(item)) throw badMessages(at, 'must be an object');
  const { type = 'message' } = item;
  const add = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (type === 'item_reference')
    throw badMessages(
      `${at}.type`,
      'is item_reference, and this service stores no items. Send the item itself, as clients do if store is false',
    );
  if (add === undefined)
    throw badMessages(`${at}.type`, `must be one of ${Object.keys(kinds).join(', ')}`);
  if (add !== addOutput) flushMedia(turns);
  add(item, at, turns);
}

function addMessage({ role, content }: Json, at: string, turns: Turns): void {
  if (role === 'assistant') return addAnswer(content, `${at}.content`, assistantTurn(turns, at));
  if (role !== 'user' && role !== 'system' && role !== 'developer')
    throw badMessages(`${at}.role`, 'must be one of user, system, developer, assistant');
  const parts =
    typeof content === 'string'
      ? [{ part: { type: 'text', text: content }, at: `${at}.content` }]
      : readParts(content, `${at}.content`);
  const said = joined(parts);
  // Servers of other models do not know the role developer.
  if (role !== 'user' && said !== null) addSystem(turns, said, at);
  else addParts(turns, role === 'user' ? 'user' : 'system', parts, at);
}

function addParts({ all }: Turns, role: string, parts: Part[], at: string): void {
  const content = joined(parts) ?? parts.map(({ part }) => part);
  all.push({ message: { role, content }, at, parts });
}

function addSystem({ all }: Turns, content: string, at: string): void {
  const last = all.at(-1)?.message;
  if (last?.role === 'system' && typeof last.content === 'string') last.content += `\n\n${content}`;
  else all.push({ message: { role: 'system', content }, at, parts: [] });
}

/** The joined texts; null if there are other parts. Many servers accept only a text. */
function joined(parts: Part[]): string | null {
  return parts.every(({ part }) => part.type === 'text')
    ? parts.map(({ part }) => part.text).join('\n')
    : null;
}

function addAnswer(content: unknown, at: string, { message }: Turn): void {
  if (typeof content === 'string') return addText(message, 'content', content);
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of parts');
  const texts: Json = {};
  content.forEach((part: unknown, k) => {
    const { type } = objectOf(part);
    const own = `${at}[${k}]`;
    if (type === 'refusal') grow(texts, 'refusal', text(objectOf(part), 'refusal', own));
    else if (type === 'output_text' || type === 'input_text')
      grow(texts, 'content', text(objectOf(part), 'text', own));
    else throw badMessages(`${own}.type`, 'must be one of output_text, refusal');
  });
  for (const [field, said] of Object.entries(texts)) addText(message, field, String(said));
}

function addText(message: Json, field: string, said: string): void {
  if (said !== '')
    message[field] = isFilled(message[field]) ? `${message[field]}\n\n${said}` : said;
}

function grow(target: Json, field: string, piece: string): void {
  target[field] = `${target[field] ?? ''}${piece}`;
}

function addReasoning(item: Json, at: string, turns: Turns): void {
  const { message } = assistantTurn(turns, at);
  const kept = itemsOf(message.reasoning_details).map(objectOf);
  const { details, text: plain, isOurs } = reasoningOf(item, at, nextIndex(kept));
  if (plain !== '') addText(message, 'reasoning_content', plain);
  if (details.length === 0) return;
  turns.details += details.length;
  if (turns.details > detailsMax)
    throw badMessages(at, `has reasoning of more than ${detailsMax} pieces in one call`);
  // Details with the same index are merged. Foreign ones are left out, so that a signature from an
  // item of ours is never added to a foreign text.
  const open = isOurs ? kept.filter((detail) => !turns.foreign.has(detail)) : [];
  const known = open.length;
  growDetails(open, details);
  const added = open.slice(known);
  if (!isOurs) for (const detail of added) turns.foreign.add(detail);
  message.reasoning_details = [...kept, ...added];
}

function nextIndex(details: Json[]): number {
  return 1 + Math.max(-1, ...details.map(({ index }) => (isCount(index) ? index : -1)));
}

function addCall(item: Json, at: string, turns: Turns, call: Json): void {
  const { message } = assistantTurn(turns, at);
  const calls = itemsOf(message.tool_calls);
  calls.push({ id: filled(item, 'call_id', at), ...call });
  message.tool_calls = calls;
}

function addOutput(item: Json, at: string, turns: Turns): void {
  const tool_call_id = filled(item, 'call_id', at);
  const { output } = item;
  const parts =
    typeof output === 'string'
      ? [{ part: { type: 'text', text: output }, at }]
      : readParts(output, `${at}.output`);
  const texts = parts.filter(({ part }) => part.type === 'text');
  for (const each of parts) if (each.part.type !== 'text') turns.media.push(each);
  const message = { role: 'tool', tool_call_id, content: joined(texts) };
  turns.all.push({ message, at, parts: [] });
}

function flushMedia(turns: Turns): void {
  const [first] = turns.media;
  if (first) addParts(turns, 'user', turns.media, first.at);
  turns.media = [];
}

function assistantTurn({ all }: Turns, at: string): Turn {
  const last = all.at(-1);
  if (last?.message.role === 'assistant') return last;
  const turn: Turn = { message: { role: 'assistant', content: null }, at, parts: [] };
  all.push(turn);
  return turn;
}

/** False for a message with reasoning alone, whose reply was interrupted. */
function says({ content, refusal, tool_calls: calls }: Json): boolean {
  return isFilled(content) || isFilled(refusal) || itemsOf(calls).length > 0;
}

function readParts(content: unknown, at: string): Part[] {
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of parts');
  if (content.length === 0) throw badMessages(at, 'must hold at least one part');
  return content.map((part, k) => readPart(objectOf(part), `${at}[${k}]`));
}

function readPart(part: Json, at: string): Part {
  const { type } = part;
  if (type === 'input_text' || type === 'output_text')
    return { part: { type: 'text', text: text(part, 'text', at) }, at };
  if (type === 'input_image') return imageOf(part, at);
  if (type === 'input_file') return fileOf(part, at);
  throw badMessages(`${at}.type`, 'must be one of input_text, input_image, input_file');
}

function imageOf(image: Json, at: string): Part {
  const { detail } = image;
  const url = ['image_url', 'file_id'].find((field) => isFilled(image[field]));
  if (url === undefined) throw badMessages(at, 'must have image_url or file_id');
  const image_url = { url: image[url], ...(isGiven(detail) && { detail }) };
  return { part: { type: 'image_url', image_url }, at, fields: { url, detail: 'detail' } };
}

function fileOf(file: Json, at: string): Part {
  const { file_id, filename } = file;
  const file_data = ['file_data', 'file_url'].find((field) => isFilled(file[field]));
  if (!isFilled(file_id) && file_data === undefined)
    throw badMessages(at, 'must have file_id, file_data or file_url');
  const own = { file_id, file_data: file_data && file[file_data], filename };
  const given = Object.entries(own).filter(([, value]) => isGiven(value) && value !== '');
  const fields = {
    file_id: 'file_id',
    filename: 'filename',
    ...(file_data !== undefined && { file_data }),
  };
  return { part: { type: 'file', file: Object.fromEntries(given) }, at, fields };
}

const filledText: Check = { is: 'a string that is not empty', test: isFilled };
const anyText: Check = { is: 'a string', test: (value) => typeof value === 'string' };

function filled(item: Json, field: string, at: string): string {
  return checked(item, field, at, filledText);
}

function text(item: Json, field: string, at: string): string {
  return checked(item, field, at, anyText);
}

function checked(item: Json, field: string, at: string, { is, test }: Check): string {
  if (!test(item[field])) throw badMessages(`${at}.${field}`, `must be ${is}`);
  return String(item[field]);
}
