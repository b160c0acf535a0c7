import { isCount, isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { isFilled } from '../../check.ts';
import {
  countIn,
  inputTextOf,
  jsonTextOf,
  listOf,
  textOf,
  wordsOf,
  type SentThought,
  type TextForm,
  type TextReader,
  type Thoughts,
} from '../reading/pieces.ts';
import { claudeFormat, googleFormat, googleProof, thoughtIn } from '../thoughts.ts';
import type { Calls, OpenCall, SentCall } from '../reading/calls.ts';

interface Readers {
  texts: Record<'text' | 'refusal', TextReader>;
  thoughts: Thoughts;
  logprobs: Json;
}

/** Reads the reasoning, the text and the refusal of a message or delta. */
export function readContent(message: Json, form: TextForm, readers: Readers): void {
  const { texts, thoughts, logprobs } = readers;
  const { content, refusal, extra_content } = message;
  const isThought = objectOf(objectOf(extra_content).google).thought === true;
  const [thinking, shown] = partsIn(content, isThought);
  // A whole message repeats the thoughts that came in pieces.
  if (form !== 'whole' || !thoughts.hasAny()) readThoughts(message, thinking, thoughts);
  if (extra_content !== undefined)
    thoughts.piece('proof', { form: 'hidden', text: googleProof(message), format: googleFormat });
  const isFirst = form === 'piece' || texts.text.said() === '';
  if (Array.isArray(shown) && isFirst) readParts(shown, readers);
  else texts.text.add(wordsOf(shown), form, logprobs.content);
  if (refusal) texts.refusal.add(textOf(refusal), form, logprobs.refusal);
}

/** The reasoning in a content, and the rest. Google marks it, and puts it into tags. */
function partsIn(content: unknown, isThought: boolean): [unknown[], unknown] {
  if (Array.isArray(content)) {
    const thinking = content.filter(isThinking);
    return [thinking, content.filter((part) => !thinking.includes(part))];
  }
  const said = wordsOf(content);
  if (!isThought && !said.includes('</thought>')) return [[], said];
  const [before, ...behind] = said.replace(/^<thought>/, '').split('</thought>');
  if (isThought) return [[{ thinking: before }], behind.join('</thought>')];
  return [[], before === '' && behind.length > 0 ? behind.join('</thought>') : content];
}

function isThinking(part: unknown): boolean {
  if (!isObject(part)) return false;
  return /reason|think/.test(textOf(part.type)) || (part.thinking ?? part.reasoning) !== undefined;
}

/** A text that came as a list of parts. */
function readParts(parts: unknown[], { texts, logprobs }: Readers): void {
  let told = logprobs.content;
  for (const part of parts) {
    if (isObject(part) && isFilled(part.refusal)) texts.refusal.add(part.refusal, 'piece', null);
    else {
      texts.text.add(textOf(part), 'piece', told);
      told = null;
    }
  }
}

const plainNames = [
  'reasoning_content',
  'reasoning',
  'thinking',
  'reasoning_text',
  'thinking_content',
  'thought',
];

/** Reads reasoning, which counts once although it has several names. `parts`: of the content. */
function readThoughts(message: Json, parts: unknown[], thoughts: Thoughts): void {
  const { reasoning_details, thinking_blocks, thinking } = message;
  const blocks = isObject(thinking) ? [thinking] : itemsOf(thinking_blocks);
  const details = [...listOf(reasoning_details), ...blocks].flatMap(sentThought);
  // Servers that send details repeat their texts as plain reasoning.
  const isDetailed = details.some(({ form, text }) => form !== 'hidden' && text !== '');
  const plain = plainNames.find((name) => name in message && thinkingOf(message[name]) !== '');
  if (!isDetailed && plain !== undefined) thoughts.plain(thinkingOf(message[plain]));
  for (const { index, ...sent } of details) thoughts.piece(`${sent.form} ${index}`, sent);
  if (isDetailed || plain !== undefined) return;
  for (const { index, ...sent } of parts.flatMap(sentThought))
    if (sent.form === 'hidden' || sent.signature) thoughts.piece(`part ${index}`, sent);
    else thoughts.plain(sent.text);
}

/** A thought in OpenRouter's form, or a block of Claude's. */
function sentThought(own: unknown, position: number): (SentThought & { index: number })[] {
  const { type = 'text', index, signature, data, thinking } = objectOf(own);
  const known = thoughtIn(own);
  if (known !== null) return [{ ...known, index: isCount(index) ? index : position }];
  if (!/thinking$|reasoning$|text$/.test(textOf(type))) return [];
  const isClaudes = isFilled(signature) || isFilled(data) || thinking !== undefined;
  const more = { index: position, format: isClaudes ? claudeFormat : null };
  if (isFilled(data)) return [{ form: 'hidden', text: data, ...more }];
  return [{ form: 'text', text: thinkingOf(own), signature: textOf(signature) || null, ...more }];
}

function thinkingOf(value: unknown): string {
  const { thinking, reasoning, content, summary } = objectOf(value);
  return textOf(thinking ?? reasoning ?? content ?? summary ?? value);
}

/**
 * Finds the tool call of each piece. Servers repeat or omit indexes, ids and names, so each alone
 * may mislead.
 */
export function callPieces(calls: Calls) {
  const byIndex = new Map<number, OpenCall>();
  const byId = new Map<string, OpenCall>();
  let last: OpenCall | undefined;
  /** The call in the field that was there before `tool_calls`. */
  let legacy: OpenCall | undefined;

  function callOf(sent: SentCall, index: number | null): OpenCall | undefined {
    const ofId = byId.get(sent.id);
    const there = index === null ? (ofId ?? last) : byIndex.get(index);
    const isKnown = sent.id !== '' && ofId !== undefined;
    if (there !== undefined && goesOn(there, sent, isKnown)) return there;
    if (isKnown && sent.name === '') return ofId;
    const call = calls.open() ?? undefined;
    if (call !== undefined && index !== null) byIndex.set(index, call);
    return call;
  }

  /** Takes the calls of a whole message, after pieces of some of them may have come. */
  function addWhole(list: SentCall[]): void {
    const known = [...calls.all];
    for (const sent of list) {
      const isSame = ({ id, name }: OpenCall) =>
        id === '' || sent.id === '' ? name === sent.name : id === sent.id;
      const at = known.findIndex(isSame);
      const call = at < 0 ? calls.open() : known.splice(at, 1)[0];
      call?.addWhole(sent);
    }
  }

  return {
    add({ tool_calls, function_call }: Json, isWhole: boolean): void {
      const list = listOf(tool_calls).filter(isObject);
      const old = isObject(function_call) ? sentCall({ function: function_call }) : null;
      // Some servers repeat a call in the old field.
      const isOld = list.length === 0 && last === undefined && old !== null;
      if (isWhole) return addWhole(isOld ? [old] : list.map(sentCall));
      for (const [position, piece] of list.entries()) {
        const sent = sentCall(piece);
        const index = countIn(piece.index) ?? (list.length > 1 ? position : null);
        last = callOf(sent, index);
        if (last === undefined || isRepeat(last, sent)) continue;
        last.add(sent);
        if (sent.id !== '' && !byId.has(sent.id)) byId.set(sent.id, last);
      }
      if (isOld && (legacy !== undefined || old.name + old.input !== '')) {
        legacy ??= calls.open() ?? undefined;
        legacy?.add(old);
      }
    },
  };
}

function sentCall(piece: Json): SentCall {
  const isCustom = piece.type === 'custom' || (piece.type !== 'function' && isObject(piece.custom));
  const own = [piece[isCustom ? 'custom' : 'function'], piece.function, piece.custom].find(
    isObject,
  );
  const { name, arguments: json, input } = own ?? piece;
  return {
    proof: googleProof(piece),
    id: textOf(piece.id),
    name: textOf(name),
    isCustom,
    input: jsonTextOf(json) + (isCustom ? inputTextOf(input) : jsonTextOf(input)),
  };
}

/** Whether a piece belongs to the call that its id and index lead to. */
function goesOn(call: OpenCall, sent: SentCall, isKnownId: boolean): boolean {
  const hasOtherId = sent.id !== '' && call.id !== '' && sent.id !== call.id;
  if (hasOtherId) return !isKnownId && sent.name === '' && !call.isComplete();
  if (sent.name === '' || call.name === '') return true;
  // A name may come in pieces, before any input.
  if (sent.name !== call.name) return sent.id === '' && call.id !== '' && call.input === '';
  return !call.isComplete() || sent.input === '' || isRepeat(call, sent);
}

/** Whether the whole call comes again, under its id. */
function isRepeat(call: OpenCall, sent: SentCall): boolean {
  return sent.id !== '' && sent.id === call.id && call.isComplete() && sent.input === call.input;
}
