import type { Json } from '../../../lib/json.ts';
import {
  growThoughts,
  type CallBegin,
  type ReplyEvent,
  type TextPiece,
  type ThoughtPiece,
} from '../../chat/reply.ts';
import { packThoughts } from '../thoughts.ts';

/** Output items of OpenAI's Responses, which grow by deltas, and the events of their parts. */

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** An event without its sequence number. */
export type ItemEvent = Json & { type: string };

export interface ReplyItem {
  /** False if the event belongs to another item. */
  takes(delta: ReplyEvent): boolean;
  /** Adds the piece and returns its events. */
  add(delta: ReplyEvent): ItemEvent[];
  /** The events that end its last part. */
  end(): ItemEvent[];
  /** The item as it is now. */
  shown(status: ItemStatus): Json;
}

export interface ItemIdParts {
  request_id: string;
  output_index: number;
}

/** How parts of an item are named in the item and in their events. */
interface PartKind {
  /** The item's list that holds the part. */
  list: 'content' | 'summary';
  type: string;
  /** The part's field with the text. */
  field: string;
  /** Events of its text: `.delta` and `.done`. */
  text: string;
  /** Events of the part: `.added` and `.done`. */
  part: string;
  /** The other fields of a part. */
  more: Json;
}

/** `name`: of its text in events. */
function partOfContent(type: string, field: string, name: string, more: Json = {}): PartKind {
  return { list: 'content', type, field, text: name, part: 'response.content_part', more };
}

const partKinds = {
  text: partOfContent('output_text', 'text', 'response.output_text', { annotations: [] }),
  refusal: partOfContent('refusal', 'refusal', 'response.refusal'),
  reasoning: partOfContent('reasoning_text', 'text', 'response.reasoning_text'),
  summary: {
    ...partOfContent('summary_text', 'text', 'response.reasoning_summary_text'),
    list: 'summary',
    part: 'response.reasoning_summary_part',
  },
} satisfies Record<string, PartKind>;

interface Part {
  kind: PartKind;
  /** Pieces with the same key belong to the part. */
  key: string;
  index: number;
  text: string;
  /** Only of `output_text`. */
  logprobs: Json[] | null;
}

/** The item that begins with this event; null if the event begins none. */
export function beginItem(
  event: ReplyEvent,
  place: ItemIdParts,
  nameOf: (name: string) => Json,
): ReplyItem | null {
  if (event.type === 'call') return callItem(event, place, nameOf);
  if (event.type === 'thought') return reasoningItem(place);
  return isSaid(event) ? messageItem(place, event.phase) : null;
}

const isSaid = (event: ReplyEvent): event is TextPiece =>
  event.type === 'text' || event.type === 'refusal';

function messageItem(place: ItemIdParts, phase: string | undefined): ReplyItem {
  const id = idOf('msg', place);
  const parts = partList(id, place);
  return {
    takes: (event) => isSaid(event) && event.phase === phase,
    add(event) {
      if (!isSaid(event)) return [];
      const { type, text, logprobs } = event;
      return parts.add(partKinds[type], '', text, type === 'text' ? (logprobs ?? []) : null);
    },
    end: parts.end,
    shown: (status) => ({
      id,
      type: 'message',
      status,
      role: 'assistant',
      ...(phase !== undefined && { phase }),
      content: parts.shown('content'),
    }),
  };
}

function reasoningItem(place: ItemIdParts): ReplyItem {
  const id = idOf('rs', place);
  const parts = partList(id, place);
  const thoughts: ThoughtPiece[] = [];
  return {
    takes: ({ type }) => type === 'thought',
    add(event) {
      if (event.type !== 'thought') return [];
      growThoughts(thoughts, event);
      if (event.form === 'hidden' || event.text === '') return [];
      const kind = event.form === 'summary' ? partKinds.summary : partKinds.reasoning;
      return parts.add(kind, String(event.index), event.text, null);
    },
    end: parts.end,
    shown: (status) => ({
      id,
      type: 'reasoning',
      status,
      summary: parts.shown('summary'),
      content: parts.shown('content'),
      encrypted_content: status === 'in_progress' ? null : packThoughts(thoughts),
    }),
  };
}

function callItem(
  { call, custom, id: call_id, name }: CallBegin,
  place: ItemIdParts,
  nameOf: (name: string) => Json,
): ReplyItem {
  const id = idOf(custom ? 'ctc' : 'fc', place);
  const field = custom ? 'input' : 'arguments';
  const named = custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
  const at = { item_id: id, output_index: place.output_index };
  let text = '';
  return {
    takes: (event) => event.type === 'input' && event.call === call,
    add(event) {
      if (event.type !== 'input') return [];
      text += event.text;
      return [{ type: `${named}.delta`, ...at, delta: event.text }];
    },
    end: () => [{ type: `${named}.done`, ...at, ...nameOf(name), [field]: text }],
    shown: (status) => ({
      id,
      type: custom ? 'custom_tool_call' : 'function_call',
      status,
      call_id,
      ...nameOf(name),
      [field]: text,
    }),
  };
}

/** The parts of an item, of which only the last one grows. */
function partList(item_id: string, { output_index }: ItemIdParts) {
  const parts: Part[] = [];
  const lengths = { content: 0, summary: 0 };
  const at = ({ kind, index }: Part) => ({ item_id, output_index, [`${kind.list}_index`]: index });

  function begin(kind: PartKind, key: string, hasLogprobs: boolean): ItemEvent[] {
    const index = lengths[kind.list]++;
    const part: Part = { kind, key, index, text: '', logprobs: hasLogprobs ? [] : null };
    const ended = end();
    parts.push(part);
    return [...ended, { type: `${kind.part}.added`, ...at(part), part: partOf(part) }];
  }

  function end(): ItemEvent[] {
    const part = parts.at(-1);
    if (!part) return [];
    const { kind, text, logprobs } = part;
    const said = { [kind.field]: text, ...(logprobs && { logprobs }) };
    return [
      { type: `${kind.text}.done`, ...at(part), ...said },
      { type: `${kind.part}.done`, ...at(part), part: partOf(part) },
    ];
  }

  function add(kind: PartKind, key: string, text: string, logprobs: Json[] | null): ItemEvent[] {
    const last = parts.at(-1);
    const isNew = last?.kind !== kind || last.key !== key;
    const begun = isNew ? begin(kind, key, logprobs !== null) : [];
    const part = parts.at(-1)!;
    part.text += text;
    for (const each of logprobs ?? []) part.logprobs?.push(each);
    const piece = { delta: text, ...(logprobs && { logprobs }) };
    return [...begun, { type: `${kind.text}.delta`, ...at(part), ...piece }];
  }

  const shown = (list: PartKind['list']) =>
    parts.filter(({ kind }) => kind.list === list).map(partOf);
  return { add, end, shown };
}

function partOf({ kind, text, logprobs }: Part): Json {
  return {
    type: kind.type,
    [kind.field]: text,
    ...kind.more,
    ...(logprobs && { logprobs: [...logprobs] }),
  };
}

function idOf(prefix: string, { request_id, output_index }: ItemIdParts): string {
  return `${prefix}_${request_id.replaceAll('-', '')}${output_index}`;
}
