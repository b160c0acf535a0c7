import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { waitingIn, type WaitingList } from '../../../lib/waiting-list.ts';
import { hasKey } from '../../../lib/records.ts';
import { badMessages } from '../../bad-request.ts';
import { mediaIn, mediaOf, mediaOrBytes } from '../../chat/chat-media.ts';
import type { Block, CallBlock, ResultBlock, ThoughtBlock, Turn } from '../../chat/conversation.ts';
import { cacheMark, cacheMarkShape } from '../../chat/optional-fields.ts';
import * as checks from '../../check.ts';
import {
  anything,
  detail,
  each,
  givenInput,
  knownFields,
  mustBe,
  unknownType,
  type LeftOut,
} from '../read-call.ts';
import { googleFormat, googleProof, thoughtIn, unproven } from '../thoughts.ts';

const { filled, integer, isFilled, isGiven, scalar, text } = checks;

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];
/** A reply may have been empty or calls alone, and a tool may have no result to report. */
const mayBeSilent: ReadonlySet<string> = new Set(['assistant', 'tool', 'function']);

/** Google's proof of a thought, which its models expect back. */
const extra_content: checks.KnownFields = {
  fields: { google: { fields: { thought_signature: text } } },
};
const calledFunction: checks.KnownFields = { fields: { name: filled, arguments: text } };

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
  const said = readContent(content, `${at}.content`, reading.left);
  if (said.length === 0 && typeof content !== 'string' && !mayBeSilent.has(role))
    throw badMessages(`${at}.content`, 'must hold at least one part');
  const listed = Array.isArray(content) && { listed: true as const };
  if (role === 'tool' || role === 'function') {
    const blocks = said.map((block) =>
      block.type === 'refusal' ? { ...block, type: 'text' as const } : block,
    );
    const mark = blocks.some((each) => each.mark) && { mark: true as const };
    const call = calledBy(message, at, reading);
    const result: ResultBlock = { type: 'result', call, blocks, failed: false, at, ...mark };
    return { by: 'user', name: null, blocks: [result], at, ...listed };
  }
  const { refusal } = message;
  const thoughts = role === 'assistant' ? thoughtsOf(message, at, reading) : [];
  const blocks: Block[] = [...thoughts, ...said];
  if (isFilled(refusal)) blocks.push({ type: 'refusal', text: refusal, at: `${at}.refusal` });
  for (const call of callsOf(message, at, reading)) blocks.push(call);
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
  const isTold = thoughts.some(({ form, text: told }) => form !== 'hidden' && told !== '');
  const blocks = thoughts.map((own): Block => {
    return { type: 'thought', ...own, at: `${at}.reasoning_details` };
  });
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

type SaidBlock = Exclude<Block, CallBlock | ResultBlock | ThoughtBlock>;

/** `at`: the path of the part. */
interface PartKind {
  is: string;
  isWhole(part: Json): boolean;
  shape: checks.KnownFields;
  read(part: Json, at: string): SaidBlock;
}

const ofEveryPart = { type: text, [cacheMark]: cacheMarkShape };

const parts: Readonly<Record<string, PartKind>> = {
  text: {
    is: 'text as a string',
    isWhole: (part) => typeof part.text === 'string',
    shape: { fields: { text, ...ofEveryPart } },
    read: (part, at) => ({ type: 'text', text: String(part.text), at }),
  },
  refusal: {
    is: 'refusal as a string',
    isWhole: ({ refusal }) => typeof refusal === 'string',
    shape: { fields: { refusal: text, ...ofEveryPart } },
    read: ({ refusal }, at) => ({ type: 'refusal', text: String(refusal), at }),
  },
  image_url: {
    is: 'image_url with a url',
    isWhole: ({ image_url }) => isFilled(objectOf(image_url).url),
    shape: {
      fields: {
        image_url: {
          fields: {
            url: text,
            detail,
          },
        },
        ...ofEveryPart,
      },
    },
    read({ image_url }, at) {
      const { url, detail: own } = objectOf(image_url);
      const media = mediaOf(String(url), `${at}.image_url.url`);
      return { type: 'image', media, at, ...(isFilled(own) && { detail: own }) };
    },
  },
  input_audio: {
    is: 'input_audio with data and format',
    isWhole: ({ input_audio: audio }) =>
      isFilled(objectOf(audio).data) && isFilled(objectOf(audio).format),
    shape: { fields: { input_audio: { fields: { data: text, format: text } }, ...ofEveryPart } },
    read({ input_audio }, at) {
      const { data, format } = objectOf(input_audio);
      const media = mediaOrBytes(String(data), `${at}.input_audio.data`);
      return { type: 'audio', media, at, format: String(format) };
    },
  },
  file: {
    is: 'file with file_id or file_data',
    isWhole: ({ file }) => isFilled(objectOf(file).file_id) || isFilled(objectOf(file).file_data),
    shape: {
      fields: {
        file: { fields: { file_id: text, file_data: text, filename: text } },
        ...ofEveryPart,
      },
    },
    read({ file }, at) {
      const media = mediaIn(objectOf(file), `${at}.file`, ['file_id', 'file_data'])!;
      return { type: 'file', media, at };
    },
  },
};

function readContent(content: unknown, at: string, left: LeftOut): SaidBlock[] {
  if (!isGiven(content) || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of parts');
  return content.map((part, k) => readPart(part, `${at}[${k}]`, left));
}

function readPart(sent: unknown, at: string, left: LeftOut): SaidBlock {
  const part = objectOf(sent);
  if (!hasKey(parts, part.type)) throw unknownType(part.type, at, Object.keys(parts));
  const { is, isWhole, shape, read } = parts[part.type]!;
  if (!isWhole(part)) throw badMessages(at, `must have ${is}`);
  const own = knownFields(part, shape, at, mustBe, left);
  const block = read(own, at);
  return isGiven(own[cacheMark]) ? { ...block, mark: true } : block;
}
