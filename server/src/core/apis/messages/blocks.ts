import type { Json } from '../../../lib/json.ts';
import type { CallBegin, ReplyEvent, ThoughtPiece } from '../../chat/reply.ts';
import { inOrder, type Entry, type Ordered } from '../ordered.ts';
import { isOfThought } from '../thoughts.ts';
import { packed } from './signature.ts';

/** Writes the content blocks of one message as Anthropic's events. */
export function openBlocks(): Ordered<Json> {
  return inOrder(blockOf);
}

function blockOf(event: ReplyEvent, index: number): Entry<Json> | null {
  switch (event.type) {
    case 'call':
      return toolUse(event, index);
    case 'thought':
      return event.form === 'hidden' ? redacted(event, index) : thinking(index);
    case 'text':
    case 'refusal':
      return text(index);
    default:
      return null;
  }
}

/** `piecesOf`: what an event adds to the block. */
function block(
  index: number,
  content_block: Json,
  takes: (event: ReplyEvent) => boolean,
  piecesOf: (event: ReplyEvent) => Json[],
): Entry<Json> {
  return {
    takes,
    begin: () => [{ type: 'content_block_start', index, content_block }],
    add: (event) => piecesOf(event).map((delta) => ({ type: 'content_block_delta', index, delta })),
    end: () => [{ type: 'content_block_stop', index }],
  };
}

function text(index: number): Entry<Json> {
  const takes = ({ type }: ReplyEvent) => type === 'text' || type === 'refusal';
  return block(index, { type: 'text', text: '', citations: null }, takes, (event) =>
    'text' in event ? [{ type: 'text_delta', text: event.text }] : [],
  );
}

function thinking(index: number): Entry<Json> {
  let last: ThoughtPiece | null = null;
  const takes = (event: ReplyEvent) =>
    event.type === 'thought' &&
    (last === null || isOfThought({ ...last, form: event.form }, event)) &&
    event.form !== 'hidden';
  return block(index, { type: 'thinking', thinking: '', signature: '' }, takes, (event) => {
    if (event.type !== 'thought') return [];
    const { format = null, index: own = null } = last ?? {};
    last = { ...event, format: format ?? event.format, index: own ?? event.index };
    const said = event.text === '' ? [] : [{ type: 'thinking_delta', thinking: event.text }];
    if (event.signature === null) return said;
    return [...said, { type: 'signature_delta', signature: packed(event.signature, event) }];
  });
}

function redacted(thought: ThoughtPiece, index: number): Entry<Json> {
  const data = packed(thought.text, thought);
  return block(
    index,
    { type: 'redacted_thinking', data },
    () => false,
    () => [],
  );
}

function toolUse({ call, id, name }: CallBegin, index: number): Entry<Json> {
  const takes = (event: ReplyEvent) => event.type === 'input' && event.call === call;
  const head = { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } };
  return block(index, head, takes, (event) =>
    event.type === 'input' ? [{ type: 'input_json_delta', partial_json: event.text }] : [],
  );
}
