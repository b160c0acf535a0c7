import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { waitingIn, type WaitingList } from '../../../lib/waiting-list.ts';
import { badMessages } from '../../bad-request.ts';
import type { Block, CallBlock, ResultBlock, ThoughtBlock, Turn } from '../../chat/conversation.ts';
import { cacheMark, cacheMarkShape } from '../../chat/optional-fields.ts';
import * as checks from '../../check.ts';
import {
  anything,
  each,
  givenInput,
  inputCheck,
  knownFields,
  mustBe,
  type LeftOut,
} from '../read-call.ts';
import {
  openaiParts,
  readParts,
  readResult,
  type PartKind,
  type PartKinds,
} from '../read-parts.ts';
import { googleFormat, googleProof, thoughtBlock, thoughtIn, unproven } from '../thoughts.ts';

const { filled, integer, isFilled, isGiven, scalar, text } = checks;

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];
/** A reply may have been empty or calls alone, and a tool may have no result to report. */
const mayBeSilent: ReadonlySet<string> = new Set(['assistant', 'tool', 'function']);

/** Google's proof of a thought, which its models expect back. */
const extra_content: checks.KnownFields = {
  fields: { google: { fields: { thought_signature: text } } },
};
const calledFunction: checks.KnownFields = { fields: { name: filled, arguments: inputCheck } };

const messageShape: checks.KnownFields = {
  fields: {
    content: anything,
    ...each(text, 'role', 'name', 'tool_call_id', 'refusal', 'reasoning', 'reasoning_content'),
    tool_calls: {
      list: {
        fields: {
          ...each(text, 'id', 'type'),
          index: integer,
          function: calledFunction,
          custom: { fields: { name: filled, input: text } },
          extra_content,
        },
      },
    },
    function_call: calledFunction,
    // OpenRouter sends reasoning in this form and expects it back.
    reasoning_details: {
      list: {
        fields: {
          ...each(text, 'type', 'text', 'summary', 'data', 'signature', 'id', 'format'),
          index: scalar,
        },
      },
    },
    extra_content,
    // LiteLLM's forms, of Claude's thoughts and of a mark of the whole message.
    thinking_blocks: { list: { fields: each(text, 'type', 'thinking', 'signature', 'data') } },
    [cacheMark]: cacheMarkShape,
    // Only the id of a reply's audio is sent back; clients also keep the bytes, which are dropped.
    audio: { fields: { id: filled } },
  },
};

interface Reading {
  /** Our ids of calls that came without one, as in the older form: by name, and all by null. */
  unnamed: Map<unknown, WaitingList<string>>;
  /** Those of calls with a result. */
  answered: Set<string>;
  left: LeftOut;
}

/** Reads the messages. `left` gets the names of unknown fields. Throws `bad_messages`. */
export function readTurns(messages: unknown, left: LeftOut): Turn[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw badMessages('messages', 'must be a list with at least one message');
  const reading: Reading = { unnamed: new Map(), answered: new Set(), left };
  return messages.map((message, i) => readMessage(message, `messages[${i}]`, reading));
}

function readMessage(sent: unknown, at: string, reading: Reading): Turn {
  if (!isObject(sent)) throw badMessages(at, 'must be an object with role and content');
  const { role } = sent;
  if (typeof role !== 'string' || !roles.includes(role))
    throw badMessages(`${at}.role`, `must be one of ${roles.join(', ')}`);
  const message = knownFields(sent, messageShape, at, mustBe, reading.left);
  const { content, name, audio } = message;
  if (content === undefined && !mayBeSilent.has(role))
    throw badMessages(`${at}.content`, 'is missing; it must be a string or a list of parts');
  if (audio !== undefined && !isFilled(objectOf(audio).id))
    throw mustBe(`${at}.audio`, 'an object with an id');
  const isSilent = !isGiven(content) || content === '';
  const listed = Array.isArray(content) && { listed: true as const };
  if (role === 'tool' || role === 'function') {
    const blocks = isSilent ? [] : readResult(content, `${at}.content`, shown, reading.left);
    const isMarked = cacheMark in message || blocks.some((each) => each.mark);
    const mark = isMarked && { mark: true as const };
    const call = calledBy(message, at, reading);
    const result: ResultBlock = { type: 'result', call, blocks, failed: false, at, ...mark };
    return { by: 'user', name: null, blocks: [result], at, ...listed };
  }
  const known = role === 'assistant' ? answered : shown;
  const said = isSilent ? [] : readParts(content, `${at}.content`, known, reading.left);
  if (said.length === 0 && typeof content !== 'string' && !mayBeSilent.has(role))
    throw badMessages(`${at}.content`, 'must hold at least one part');
  const { refusal } = message;
  const thoughts = role === 'assistant' ? thoughtsOf(message, at, reading) : [];
  const calls = callsOf(message, at, reading);
  // Each of them counts once, wherever it is given.
  const again = new Set(calls.map((block) => (block.type === 'call' ? block.id : '')));
  const own = said.filter(({ type, ...block }) =>
    type === 'thought' ? thoughts.length === 0 : !('id' in block && again.has(String(block.id))),
  );
  const blocks: Block[] = [...thoughts, ...own];
  if (isFilled(refusal)) blocks.push({ type: 'refusal', text: refusal, at: `${at}.refusal` });
  for (const each of calls) blocks.push(each);
  const last = blocks.findLast(({ type }) => type !== 'thought');
  if (cacheMark in message && last) last.mark = true;
  const audio_id = audio !== undefined && { audio_id: String(objectOf(audio).id) };
  const by = role as Turn['by'];
  return { by, name: isFilled(name) ? name : null, blocks, at, ...listed, ...audio_id };
}

/** Reasoning that is given under several names counts once. */
function thoughtsOf(message: Json, at: string, { left }: Reading): Block[] {
  const details = itemsOf(message.reasoning_details).map(thoughtIn);
  const thoughts = details.filter((each) => each !== null);
  if (thoughts.length < details.length) left.add('messages[]', 'reasoning_details');
  const plain = [message.reasoning_content, message.reasoning].find(isFilled);
  const blocks = thoughts.map((own): ThoughtBlock => {
    return { type: 'thought', ...own, at: `${at}.reasoning_details` };
  });
  if (blocks.length === 0)
    for (const own of itemsOf(message.thinking_blocks))
      for (const each of thought.read(objectOf(own), at)) blocks.push(each);
  const isTold = blocks.some(({ form, text: told }) => form !== 'hidden' && told !== '');
  if (!isTold && plain !== undefined)
    blocks.unshift({ type: 'thought', form: 'text', text: plain, at, ...unproven });
  return [...blocks, ...proofOf(message, null, `${at}.extra_content`)];
}

/** Google's proof beside a message or a call, as a thought. */
function proofOf(own: Json, id: string | null, at: string): ThoughtBlock[] {
  const proof = googleProof(own);
  if (proof === '') return [];
  const format = googleFormat;
  return [{ type: 'thought', form: 'hidden', text: proof, signature: null, id, format, at }];
}

/** The id of the call that a result is of. One without an id is of the first call without one. */
function calledBy({ role, name, tool_call_id: id }: Json, at: string, reading: Reading): string {
  const { unnamed, answered } = reading;
  if (role === 'tool' && isFilled(id)) return id;
  const queue = unnamed.get(role === 'tool' ? null : name);
  let first = queue?.take();
  while (first && answered.has(first)) first = queue?.take();
  if (first) answered.add(first);
  if (first) return first;
  if (role === 'tool') throw badMessages(`${at}.tool_call_id`, 'must be the id of a tool call');
  if (!isFilled(name)) throw badMessages(`${at}.name`, 'must be the name of a function');
  return name;
}

function callsOf(message: Json, at: string, reading: Reading): Block[] {
  const { tool_calls, function_call: older } = message;
  const calls = itemsOf(tool_calls).flatMap((sent, k): Block[] => {
    const call = callOf(objectOf(sent), `${at}.tool_calls[${k}]`, reading);
    return [...proofOf(objectOf(sent), call.id, call.at), call];
  });
  if (!isObject(older)) return calls;
  return [...calls, callOf(older, `${at}.function_call`, reading)];
}

function callOf({ type, id, ...call }: Json, at: string, { unnamed }: Reading): CallBlock {
  const custom = type === 'custom' || (type !== 'function' && isObject(call.custom));
  const field = custom ? 'custom' : 'function';
  const { name, input, arguments: json } = objectOf(call[field] ?? call);
  const path = isObject(call[field]) ? `${at}.${field}.name` : `${at}.name`;
  if (!isFilled(name)) throw badMessages(path, 'must be the name of a tool');
  const said = custom ? String(input ?? '') : givenInput(json);
  const own: CallBlock = { type: 'call', id: String(id), name, input: said, custom, at };
  if (isFilled(id)) return own;
  own.id = `call${at.replaceAll(/\D+/g, '_')}`;
  for (const key of [null, name]) waitingIn(unnamed, key).add(own.id);
  return own;
}

const shown: PartKinds = {
  kinds: openaiParts,
  named: ['text', 'refusal', 'image_url', 'input_audio', 'file'],
};

const thought = {
  fields: each(text, 'thinking', 'reasoning', 'text', 'signature', 'data'),
  read({ thinking, reasoning = thinking, text: said = reasoning, signature, data }, at) {
    if (isFilled(data)) return [thoughtBlock('hidden', '', data, at)];
    const words = isFilled(said) ? said : '';
    return words !== '' || isFilled(signature) ? [thoughtBlock('text', words, signature, at)] : [];
  },
} satisfies PartKind & { read: (own: Json, at: string) => ThoughtBlock[] };
const call: PartKind = {
  fields: { id: filled, name: filled, input: inputCheck, args: inputCheck },
  needs: ['id', 'name'],
  read({ id, name, args, input = args }, at) {
    const own = { id: String(id), name: String(name), input: givenInput(input) };
    return [{ type: 'call', ...own, custom: false, at }];
  },
};
/** LangChain keeps thoughts and calls among the parts, too. */
const answered: PartKinds = {
  kinds: {
    ...openaiParts,
    thinking: thought,
    redacted_thinking: thought,
    reasoning: thought,
    tool_use: call,
    tool_call: call,
  },
  named: shown.named,
};
