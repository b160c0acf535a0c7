import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { badMessages } from '../../chat/chat-messages.ts';
import type { Block, MediaBlock, TextBlock, Turn } from '../../chat/conversation.ts';
import { LeftOut } from '../../chat/known-fields.ts';
import { isFilled, isGiven, type Check } from '../../check.ts';
import { mediaOf, mediaOrBytes } from '../media.ts';
import { unpack } from '../packed.ts';
import { responsesFormat, type Thought } from '../thoughts.ts';
import { unpackedThoughts } from './reasoning.ts';
import { flatName } from './tools.ts';

/** Reads `input` of OpenAI's Responses, a text or a list of items. */

/** Maximum number of thoughts: more than a long conversation has. */
const thoughtsMax = 4_096;

interface Reading {
  turns: Turn[];
  /** The place of the next result in `turns`; null: the assistant has said nothing yet. */
  results: number | null;
  thoughts: number;
  left: LeftOut;
}

type ReadItem = (item: Json, at: string, reading: Reading) => void;

/** `fields`: those that are read, or that only a stored item needs. */
interface ItemKind {
  read: ReadItem;
  fields: readonly string[];
}

const output: ItemKind = { read: addOutput, fields: ['call_id', 'output'] };

const kinds: Readonly<Record<string, ItemKind>> = {
  message: { read: addMessage, fields: ['role', 'content', 'phase'] },
  reasoning: { read: addReasoning, fields: ['summary', 'content', 'encrypted_content'] },
  function_call: {
    read: (item, at, reading) => addCall(item, at, reading, 'arguments'),
    fields: ['call_id', 'name', 'namespace', 'arguments'],
  },
  custom_tool_call: {
    read: (item, at, reading) => addCall(item, at, reading, 'input'),
    fields: ['call_id', 'name', 'namespace', 'input'],
  },
  function_call_output: output,
  custom_tool_call_output: output,
};

/** Codex tells of a new goal or of a message of another task by an output that has no call. */
const uncalled: ItemKind = { read: addUncalled, fields: ['name', 'namespace', 'output'] };

const ofEveryItem = new Set(['type', 'id', 'status']);

/**
 * Consecutive items of the assistant become one turn, and so do consecutive system messages,
 * because the templates of many models take only one. `ignored`: names of unknown fields of items.
 *
 * @throws ApiError `bad_messages`, which names the item or its field
 */
export function readInput({ input, instructions }: Json): { turns: Turn[]; ignored: string[] } {
  const reading: Reading = { turns: [], results: null, thoughts: 0, left: new LeftOut() };
  if (isFilled(instructions))
    addBlocks(
      reading,
      'system',
      [{ type: 'text', text: instructions, at: 'instructions' }],
      'instructions',
    );
  if (typeof input === 'string')
    addBlocks(reading, 'user', [{ type: 'text', text: input, at: 'input' }], 'input');
  else {
    if (!Array.isArray(input)) throw badMessages('input', 'must be a string or a list of items');
    if (input.length === 0) throw badMessages('input', 'must hold at least one item');
    input.forEach((item: unknown, i) => addItem(item, `input[${i}]`, reading));
  }
  return { turns: reading.turns.filter(says), ignored: [...reading.left.names] };
}

/** False for a turn with reasoning alone, whose reply was interrupted. */
function says({ by, blocks }: Turn): boolean {
  return by !== 'assistant' || blocks.some(({ type }) => type !== 'thought');
}

function addItem(item: unknown, at: string, reading: Reading): void {
  if (!isObject(item)) throw badMessages(at, 'must be an object');
  const { type = 'message' } = item;
  const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (type === 'item_reference')
    throw badMessages(
      `${at}.type`,
      'is item_reference, and this service stores no items. Send the item itself, as clients do if store is false',
    );
  if (kind === undefined)
    throw badMessages(`${at}.type`, `must be one of ${Object.keys(kinds).join(', ')}`);
  const { read, fields } = kind === output && !isGiven(item.call_id) ? uncalled : kind;
  reading.left.add(at, item, (name) => fields.includes(name) || ofEveryItem.has(name));
  read(item, at, reading);
}

const joining: ReadonlySet<string> = new Set(['system', 'developer', 'assistant']);

function addBlocks(reading: Reading, by: Turn['by'], blocks: Block[], at: string): void {
  const { turns } = reading;
  const last = turns.at(-1);
  if (last?.by === by && joining.has(by)) for (const block of blocks) last.blocks.push(block);
  else turns.push({ by, name: null, blocks, at });
  if (by === 'assistant') reading.results = turns.length;
}

function addMessage(item: Json, at: string, reading: Reading): void {
  const { role, content, phase } = item;
  if (role === 'assistant')
    return addBlocks(reading, role, answerOf(content, `${at}.content`, phase), at);
  if (role !== 'user' && role !== 'system' && role !== 'developer')
    throw badMessages(`${at}.role`, 'must be one of user, system, developer, assistant');
  addBlocks(reading, role, saidIn(content, `${at}.content`), at);
}

function saidIn(content: unknown, at: string): Block[] {
  return asOneText(partsIn(content, at), at);
}

/** The texts of a message that has nothing else are one text. */
function asOneText(blocks: Block[], at: string): Block[] {
  const texts = blocks.filter((block) => block.type === 'text');
  if (texts.length < blocks.length) return blocks;
  return [{ type: 'text', text: texts.map(({ text }) => text).join('\n'), at }];
}

/** The parts of one message of the assistant. Its texts are one text. */
function answerOf(content: unknown, at: string, phase: unknown): Block[] {
  const more = isFilled(phase) && { phase };
  if (typeof content === 'string')
    return content === '' ? [] : [{ type: 'text', text: content, at, ...more }];
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of parts');
  const said = { text: '', refusal: '' };
  content.forEach((part: unknown, k) => {
    const own = objectOf(part);
    const place = `${at}[${k}]`;
    if (own.type === 'refusal') said.refusal += text(own, 'refusal', place);
    else if (own.type === 'output_text' || own.type === 'input_text')
      said.text += text(own, 'text', place);
    else throw badMessages(`${place}.type`, 'must be one of output_text, refusal');
  });
  return (['text', 'refusal'] as const)
    .filter((type) => said[type] !== '')
    .map((type): Block => ({ type, text: said[type], at, ...more }));
}

function addReasoning(item: Json, at: string, reading: Reading): void {
  const thoughts = thoughtsOf(item, at);
  reading.thoughts += thoughts.length;
  if (reading.thoughts > thoughtsMax)
    throw badMessages(at, `has reasoning of more than ${thoughtsMax} pieces in one call`);
  const blocks = thoughts.map((thought): Block => ({ type: 'thought', ...thought, at }));
  addBlocks(reading, 'assistant', blocks, at);
}

/** The thoughts that this service packed, or the item's own texts and data. */
function thoughtsOf(item: Json, at: string): Thought[] {
  const { encrypted_content: data } = item;
  const place = `${at}.encrypted_content`;
  if (isGiven(data) && typeof data !== 'string') throw badMessages(place, 'must be a string');
  const own = isFilled(data) ? unpack(data, place) : null;
  if (own) return unpackedThoughts(own, place);
  const origin = {
    signature: null,
    id: isFilled(item.id) ? item.id : null,
    format: responsesFormat,
  };
  return [
    ...textsIn(item.summary, `${at}.summary`).map((said) => ({ form: 'summary', text: said })),
    ...textsIn(item.content, `${at}.content`).map((said) => ({ form: 'text', text: said })),
    ...(isFilled(data) ? [{ form: 'hidden', text: data }] : []),
  ].map((each) => ({ ...each, ...origin }) as Thought);
}

function textsIn(list: unknown, at: string): string[] {
  if (isGiven(list) && !Array.isArray(list)) throw badMessages(at, 'must be a list');
  return itemsOf(list).map((part, i) => {
    const { text: said } = objectOf(part);
    if (typeof said !== 'string') throw badMessages(`${at}[${i}].text`, 'must be a string');
    return said;
  });
}

function addCall(item: Json, at: string, reading: Reading, field: 'arguments' | 'input'): void {
  const name = flatName(item.namespace, filled(item, 'name', at));
  const input = text(item, field, at);
  const id = filled(item, 'call_id', at);
  const call: Block = { type: 'call', id, name, input, custom: field === 'input', at };
  addBlocks(reading, 'assistant', [call], at);
}

/** Other APIs want results directly behind the calls, so messages in between come after them. */
function addOutput(item: Json, at: string, reading: Reading): void {
  const call = filled(item, 'call_id', at);
  const blocks = partsIn(item.output, `${at}.output`);
  const result: Block = { type: 'result', call, blocks, failed: false, at };
  const place = reading.results ?? reading.turns.length;
  reading.turns.splice(place, 0, { by: 'user', name: null, blocks: [result], at });
  if (reading.results !== null) reading.results++;
}

/** Other APIs have no such output: it becomes a message of the user that says where it is from. */
function addUncalled(item: Json, at: string, reading: Reading): void {
  const names = ['namespace', 'name'].filter((field) => isGiven(item[field]));
  const from = names.map((field) => text(item, field, at)).join('.') || 'a tool';
  const label: Block = { type: 'text', text: `Output of ${from}:`, at };
  const said = asOneText([label, ...partsIn(item.output, `${at}.output`)], at);
  addBlocks(reading, 'user', said, at);
}

function partsIn(content: unknown, at: string): (TextBlock | MediaBlock)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of parts');
  if (content.length === 0) throw badMessages(at, 'must hold at least one part');
  return content.map((part, k) => partOf(objectOf(part), `${at}[${k}]`));
}

function partOf(part: Json, at: string): TextBlock | MediaBlock {
  const { type } = part;
  if (type === 'input_text' || type === 'output_text')
    return { type: 'text', text: text(part, 'text', at), at };
  if (type === 'input_image') return imageOf(part, at);
  if (type === 'input_file') return fileOf(part, at);
  throw badMessages(`${at}.type`, 'must be one of input_text, input_image, input_file');
}

const details: ReadonlySet<unknown> = new Set(['auto', 'low', 'high']);

function imageOf(image: Json, at: string): MediaBlock {
  const { detail } = image;
  const field = ['image_url', 'file_id'].find((each) => isFilled(image[each]));
  if (field === undefined) throw badMessages(at, 'must have image_url or file_id');
  if (isGiven(detail) && !details.has(detail))
    throw badMessages(`${at}.detail`, 'must be auto, low or high');
  const media = mediaOf(String(image[field]), `${at}.${field}`);
  return { type: 'image', media, at, ...(isFilled(detail) && { detail }) };
}

function fileOf(file: Json, at: string): MediaBlock {
  const field = ['file_id', 'file_data', 'file_url'].find((each) => isFilled(file[each]));
  if (field === undefined) throw badMessages(at, 'must have file_id, file_data or file_url');
  const name = isFilled(file.filename) ? file.filename : null;
  const read = field === 'file_data' ? mediaOrBytes : mediaOf;
  return { type: 'file', media: read(String(file[field]), `${at}.${field}`, name), at };
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
