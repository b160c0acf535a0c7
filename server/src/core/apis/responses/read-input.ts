import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { badMessages } from '../../bad-request.ts';
import type { Block, Turn } from '../../chat/conversation.ts';
import * as common from '../read-call.ts';
import { filled, isFilled, isGiven, text, type Check, type KnownFields } from '../../check.ts';
import { saysNothing } from '../../chat/chat-media.ts';
import { callersName } from '../writing.ts';
import {
  openaiParts,
  readParts,
  readResult,
  type PartKind,
  type PartKinds,
} from '../read-parts.ts';
import { namesOf } from './tools.ts';
import { responsesFormat, unpack, unpackThoughts, type Thought } from '../thoughts.ts';

/** Reads `input` of OpenAI's Responses, a text or a list of items. */

/** Maximum number of thoughts: more than a long conversation has. */
const thoughtsMax = 4_096;

interface Reading {
  turns: Turn[];
  /** The turn of each call, by the call's id. */
  callers: Map<string, Turn>;
  thoughts: number;
  left: common.LeftOut;
}

const { text: textKind, refusal, ...media } = openaiParts;
const shown: PartKinds = {
  kinds: { text: textKind, ...media },
  named: ['input_text', 'input_image', 'input_file', 'input_audio'],
};
const answered: PartKinds = {
  kinds: { text: textKind, refusal },
  named: ['output_text', 'refusal'],
};

type ReadItem = (item: Json, at: string, reading: Reading) => void;

interface ItemKind {
  read: ReadItem;
  shape: KnownFields;
}

/** The kind with these fields, beside those that only a stored item needs. */
function kindOf(read: ReadItem, ...fields: string[]): ItemKind {
  return {
    read,
    shape: { fields: common.each(common.anything, 'type', 'id', 'status', ...fields) },
  };
}

const output = kindOf(addOutput, 'call_id', 'output');
const ofCalls = ['call_id', 'name', 'namespace'];

/** Calls of tools that clients run themselves, as a function with the tool's name. */
function clientsCall(name: string, field: string): Record<string, ItemKind> {
  const read: ReadItem = (item, at, reading) =>
    addCallOf('arguments')({ ...item, name, arguments: item[field] }, at, reading);
  return {
    [`${name}_call`]: kindOf(read, 'call_id', 'execution', field),
    [`${name}_call_output`]: kindOf(addOutput, 'call_id', 'output', 'max_output_length'),
  };
}

const kinds: Readonly<Record<string, ItemKind>> = {
  message: kindOf(addMessage, 'role', 'content', 'phase'),
  reasoning: kindOf(addReasoning, 'summary', 'content', 'encrypted_content'),
  function_call: kindOf(addCallOf('arguments'), 'arguments', ...ofCalls),
  custom_tool_call: kindOf(addCallOf('input'), 'input', ...ofCalls),
  function_call_output: output,
  custom_tool_call_output: output,
  ...clientsCall('local_shell', 'action'),
  ...clientsCall('shell', 'action'),
  ...clientsCall('apply_patch', 'operation'),
  ...clientsCall('tool_search', 'arguments'),
  tool_search_output: kindOf(addFound, 'call_id', 'execution', 'tools'),
  agent_message: kindOf(addAgents, 'author', 'recipient', 'content'),
  // Read with the call's other tools.
  additional_tools: kindOf(() => {}, 'role', 'tools'),
};

/** Items of tools that ran at OpenAI, and of history that only OpenAI or the client can read. */
const unread = new Set(
  (
    'web_search_call file_search_call code_interpreter_call image_generation_call computer_call ' +
    'computer_call_output mcp_call mcp_list_tools mcp_approval_request mcp_approval_response ' +
    'compaction compaction_summary compaction_trigger context_compaction ghost_snapshot ' +
    'agent_reasoning'
  ).split(' '),
);

/** Codex tells of a new goal or of a message of another task by an output that has no call. */
const uncalled = kindOf(addUncalled, 'name', 'namespace', 'output');

/**
 * Consecutive items of the assistant become one turn, and so do consecutive system messages,
 * because the templates of many models take only one. `left` gets the names of fields that are not
 * read.
 *
 * @throws ApiError `bad_messages`, which names the item or its field
 */
export function readInput({ input, instructions }: Json, left: common.LeftOut): Turn[] {
  const reading: Reading = { turns: [], callers: new Map(), thoughts: 0, left };
  const addText = (by: Turn['by'], said: string, at: string) =>
    addBlocks(reading, by, [{ type: 'text', text: said, at }], at);
  if (isFilled(instructions)) addText('system', instructions, 'instructions');
  if (typeof input === 'string') addText('user', input, 'input');
  else {
    if (!Array.isArray(input)) throw badMessages('input', 'must be a string or a list of items');
    if (input.length === 0) throw badMessages('input', 'must hold at least one item');
    input.forEach((item: unknown, i) => addItem(item, `input[${i}]`, reading));
  }
  const { turns } = reading;
  if (turns.some((turn) => turn.blocks.length > 0 && !says(turn)))
    left.names.add(callersName('responses', 'thought'));
  const said = turns.filter(says);
  if (said.length === 0) throw saysNothing({ api: 'responses' });
  return said;
}

/** False for a turn with reasoning alone, whose reply was interrupted. */
function says({ by, blocks }: Turn): boolean {
  return by !== 'assistant' || blocks.some(({ type }) => type !== 'thought');
}

function addItem(item: unknown, at: string, reading: Reading): void {
  if (!isObject(item)) throw badMessages(at, 'must be an object');
  const type = item.type ?? 'message';
  // A search for tools at OpenAI has no id.
  const isHosted = /^tool_search_(call|output)$/.test(String(type)) && !isGiven(item.call_id);
  if (isHosted || unread.has(String(type))) return reading.left.add(at, String(type));
  const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (type === 'item_reference')
    throw badMessages(
      `${at}.type`,
      'is item_reference, and this service stores no items. Send the item itself, as clients do if store is false',
    );
  if (kind === undefined) throw common.unknownType(type, at, Object.keys(kinds));
  const { read, shape } = kind === output && !isGiven(item.call_id) ? uncalled : kind;
  read(common.knownFields(item, shape, at, common.mustBe, reading.left), at, reading);
}

const joining: ReadonlySet<string> = new Set(['system', 'developer', 'assistant']);

function addBlocks(reading: Reading, by: Turn['by'], blocks: Block[], at: string): void {
  const { turns } = reading;
  const last = turns.at(-1);
  if (last?.by === by && joining.has(by)) for (const block of blocks) last.blocks.push(block);
  else turns.push({ by, name: null, blocks, at });
}

function addMessage(item: Json, at: string, reading: Reading): void {
  const { role, content, phase } = item;
  const place = `${at}.content`;
  if (role !== 'user' && role !== 'system' && role !== 'developer' && role !== 'assistant')
    throw badMessages(`${at}.role`, 'must be one of user, system, developer, assistant');
  const known = role === 'assistant' ? answered : shown;
  const more = role === 'assistant' && isFilled(phase) && { phase };
  const isSilent = role === 'assistant' && !isGiven(content);
  const blocks = isSilent ? [] : readParts(content, place, known, reading.left);
  if (role !== 'assistant' && blocks.length === 0)
    throw badMessages(place, 'must hold at least one part');
  const said = blocks.filter((block) => !('text' in block) || block.text !== '');
  const phased = said.map((block) => ({ ...block, ...more }));
  addBlocks(reading, role, phased, at);
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
  if (own) return unpackThoughts(own, place);
  // Without its data an item proves nothing, and is plain reasoning.
  const origin = {
    signature: null,
    id: isFilled(data) && isFilled(item.id) ? item.id : null,
    format: isFilled(data) ? responsesFormat : null,
  };
  const as = (form: Thought['form'], texts: string[]) =>
    texts.map((said): Thought => ({ form, text: said, ...origin }));
  return [
    ...as('summary', textsIn(item.summary, `${at}.summary`)),
    ...as('text', textsIn(item.content, `${at}.content`)),
    ...as('hidden', isFilled(data) ? [data] : []),
  ];
}

function textsIn(list: unknown, at: string): string[] {
  if (isGiven(list) && !Array.isArray(list)) throw badMessages(at, 'must be a list');
  return itemsOf(list).map((part, i) => {
    const { text: said } = objectOf(part);
    if (typeof said !== 'string') throw badMessages(`${at}[${i}].text`, 'must be a string');
    return said;
  });
}

/** `field`: the one with the input. */
function addCallOf(field: 'arguments' | 'input'): ReadItem {
  const custom = field === 'input';
  return (item, at, reading) => {
    const name = common.flatName(item.namespace, checked(item, 'name', at, filled));
    const given = asText(item, field, at);
    const id = idOf(item, at);
    const input = custom ? given : common.givenInput(given);
    addBlocks(reading, 'assistant', [{ type: 'call', id, name, input, custom, at }], at);
    reading.callers.set(id, reading.turns.at(-1)!);
  };
}

/** Some clients give a call and its output one `id` instead. */
function idOf(item: Json, at: string): string {
  return checked(item, isGiven(item.call_id) ? 'call_id' : 'id', at, filled);
}

/** Other APIs want results directly behind the calls, so what is in between comes after them. */
function addOutput(item: Json, at: string, reading: Reading): void {
  const call = idOf(item, at);
  const { output: given } = item;
  // Older clients send an object that also says whether the call succeeded.
  const [said, success] =
    isObject(given) && 'content' in given ? [given.content, given.success] : [given];
  const blocks = readResult(said, `${at}.output`, shown, reading.left);
  const result: Block = { type: 'result', call, blocks, failed: success === false, at };
  const { turns, callers } = reading;
  const caller = callers.get(call);
  const place = caller ? turns.lastIndexOf(caller) + 1 : turns.length;
  const next = turns[place]?.blocks;
  if (next?.[0]?.type === 'result') next.push(result);
  else turns.splice(place, 0, { by: 'user', name: null, blocks: [result], at });
}

/** The tools that a search found are offered beside the call's own. */
function addFound(item: Json, at: string, reading: Reading): void {
  const found = namesOf(item.tools).map((name) => `The tool ${name} is available.`);
  addOutput({ ...item, output: found.join('\n') }, at, reading);
}

/** Other APIs have no such output: it becomes a message of the user that says where it is from. */
function addUncalled(item: Json, at: string, reading: Reading): void {
  const from = textsOf(item, at, 'namespace', 'name').join('.') || 'a tool';
  const blocks = readResult(item.output, `${at}.output`, shown, reading.left);
  addLabelled(`Output of ${from}:`, blocks, at, reading);
}

/** A message of one agent of Codex to another. */
function addAgents(item: Json, at: string, reading: Reading): void {
  const [author = 'an agent', recipient] = textsOf(item, at, 'author', 'recipient');
  const to = recipient === undefined ? '' : ` to ${recipient}`;
  const blocks = readParts(item.content, `${at}.content`, agents, reading.left);
  addLabelled(`Message of ${author}${to}:`, blocks, at, reading);
}

/** Codex calls every such text encrypted, but only OpenAI's models encrypt. */
const encrypted: PartKind = {
  fields: { encrypted_content: text },
  needs: ['encrypted_content'],
  read({ encrypted_content }, at, left) {
    const said = String(encrypted_content);
    if (!/^gAAAA[\w-]+=*$/.test(said)) return [{ type: 'text', text: said, at }];
    left.add(at, 'encrypted_content');
    return [];
  },
};
const agents: PartKinds = {
  kinds: { ...openaiParts, encrypted_content: encrypted },
  named: shown.named,
};

function textsOf(item: Json, at: string, ...fields: string[]): string[] {
  return fields.filter((each) => isGiven(item[each])).map((each) => checked(item, each, at));
}

function addLabelled(label: string, blocks: Block[], at: string, reading: Reading): void {
  const [first] = blocks;
  if (first?.type === 'text') blocks[0] = { ...first, text: `${label}\n${first.text}` };
  else blocks.unshift({ type: 'text', text: label, at });
  addBlocks(reading, 'user', blocks, at);
}

function checked(item: Json, field: string, at: string, { is, test }: Check = text): string {
  if (!test(item[field])) throw common.mustBe(`${at}.${field}`, is);
  return String(item[field]);
}

/** A text, or the JSON of an object that was given in its place. */
function asText(item: Json, field: string, at: string): string {
  const value = item[field];
  return isObject(value) ? JSON.stringify(value) : checked(item, field, at);
}
