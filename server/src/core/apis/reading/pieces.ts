import { isCount, isObject, isWithinDepth, itemsOf, type Json } from '../../../lib/json.ts';
import { isLong, verbatimJson } from '../../../lib/long-integers.ts';
import { callsMax, type FinishReason } from '../../chat/reply.ts';
import type { EmitEvent } from '../api.ts';
import { unproven, type Thought } from '../thoughts.ts';

/** Reads values of upstreams by their evident meaning, whatever their types. */

/** A text, a number as a text with all its digits, or the joined texts of a list of parts. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map(textOf).join('');
  if (isLong(value)) return value.rawJSON;
  return isObject(value) ? textOf(value.text ?? value.value) : '';
}

/** The same; JSON in place of a text is its text. */
export function wordsOf(value: unknown): string {
  return textOf(value) || (isObject(value) && !('text' in value) ? jsonTextOf(value) : '');
}

/** Reading recurses once per level. A text shorter than twice the depth cannot be deeper. */
export const depthMax = 256;

/** The value of a text with JSON, unless it is nested absurdly deep; any other value as it is. */
export function jsonIn(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    const inner = verbatimJson(value);
    return isWithinDepth(inner, depthMax) ? inner : value;
  } catch {
    return value;
  }
}

/** A list, or the only item of one. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : isObject(value) ? [value] : [];
}

/** The items of a list, also if they came as JSON, as the only one, or by their numbers. */
export function numberedIn(given: unknown): unknown[] {
  const value = jsonIn(given);
  if (!isObject(value)) return listOf(value);
  const all = Object.entries(value);
  const isNumbered = all.length > 0 && all.every(([key]) => wholeNumberIn(key) !== null);
  if (!isNumbered) return [value];
  return all.map(([key, each]) => (isObject(each) ? { index: Number(key), ...each } : each));
}

/** A text with JSON, or the JSON of another value. Empty objects and lists are an empty text. */
export function jsonTextOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  return isEmpty || value === undefined ? '' : JSON.stringify(value);
}

/** The text that a custom tool gets; another value as its JSON. */
export function inputTextOf(value: unknown): string {
  return textOf(value) || jsonTextOf(value);
}

/** A whole number, perhaps as a text; null for any other value. */
export function wholeNumberIn(value: unknown): number | null {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return isCount(count) ? count : null;
}

/** The rest of a text of which `said` is the beginning; empty if it begins differently. */
export function restOf(said: string, whole: string): string {
  return whole.startsWith(said) ? whole.slice(said.length) : '';
}

/**
 * The words with which services end a reply, in lower case and with underscores. The first that
 * fits decides; words that no service is known to use mean `stop`.
 */
const meanings: readonly [FinishReason | 'broken' | null, RegExp][] = [
  [
    null,
    /^(null|none|undefined|unspecified|(in_)?progress|not_finished|continue|pending|queued|running|processing|generating|streaming)?$/,
  ],
  [
    'stop',
    /^(?!\w*(?:error|fail|abort|cancel|time|interrupt|length|max|limit|trunc|filter|safety|refus))(?:stop|end|eos|complete|finish|done|pause|image_other|no_image)/,
  ],
  // Gemini's words for a faulty call name its filter of calls, too.
  ['broken', /malformed_function|unexpected_tool/],
  [
    'filter',
    /filter|safety|language|recitation|blocklist|prohibited|spii|armor|refus|sensitive|toxic|guardrail|block|moderat|policy|unsafe|harm|viol(?:at|en)|flag|nsfw|sexual|(?:^|_)risk|censor|copyright|jailbreak|hate/,
  ],
  [
    'length',
    /length|max(?:_|imum|$)|token|(?<!time_?|rate_?)limit|context(?!_(?:cancel|deadline))|incomplete|unfinished|truncat|repetit|loop|cut_?off|too_long|thinking_budget/,
  ],
  [
    'broken',
    /error|fail|abort|cancel|timed?_?out|deadline|limit|malformed|unexpected|too_many|missing|insufficient|overload|exceeded|interrupt|preempt|disconnect|memory|killed|crash|shut_?down|unavailable|exhaust|throttl|busy|internal|invalid|(?:^|_)oom(?:_|$)/,
  ],
  ['tools', /tool|function/],
];

/** The meaning of a finish reason. Null: the reply goes on. `broken`: it failed. */
export function finishOf(given: unknown): FinishReason | 'broken' | null {
  const reason = isObject(given) ? given.type : given;
  if (typeof reason !== 'string') return null;
  if (reason === 'stop') return 'stop';
  const word = reason
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[\s.-]+/g, '_')
    .replace(/^(?:finish|stop)_reason_/, '');
  const known = meanings.find(([, form]) => form.test(word));
  return known === undefined ? 'stop' : known[0];
}

/**
 * `piece`: the next piece of the text. `whole`: the whole text, of which pieces may have come.
 * `either`: the whole text if it begins with what came before, otherwise the next piece.
 */
export type TextForm = 'piece' | 'whole' | 'either';

export type TextReader = ReturnType<typeof textReader>;

/** Reads a text that comes in pieces, and perhaps once more as a whole. */
export function textReader(type: 'text' | 'refusal', say: EmitEvent, phase?: string) {
  let said = '';
  let pieces = 0;
  /** Log probabilities of tokens that have no text of their own, such as parts of a character. */
  let waiting: Json[] = [];

  function pieceOf(text: string, form: TextForm): string {
    const isNext = form === 'piece' || (form === 'either' && !text.startsWith(said));
    return isNext ? text : restOf(said, text);
  }

  return {
    textSoFar: () => said,
    /** Whether this is all of the text once more, after it came in pieces. */
    isRepeat: (text: string) => pieces > 1 && text === said,
    add(text: string, form: TextForm, logprobs: unknown): void {
      const isNew = form === 'piece' || said === '';
      if (isNew) for (const each of itemsOf(logprobs)) if (isObject(each)) waiting.push(each);
      const piece = pieceOf(text, form);
      if (piece === '') return;
      said += piece;
      pieces++;
      const ready = waiting.length > 0 ? waiting : null;
      say({ type, text: piece, logprobs: ready, ...(phase !== undefined && { phase }) });
      if (ready) waiting = [];
    },
  };
}

/** A piece of a thought as an upstream sends it. Values that it leaves out are absent. */
export type SentThought = Pick<Thought, 'form' | 'text'> & Partial<Thought>;

export type Thoughts = ReturnType<typeof replyThoughts>;

/** MiniMax's form of reasoning: each piece has all that came before it, as in its content. */
const growingFormat = 'MiniMax-response-v1';

/** Numbers the thoughts of a reply. */
export function replyThoughts(say: EmitEvent) {
  const open = new Map<string, { index: number; format: string | null }>();
  let count = 0;
  let hasAny = false;
  let growths = 0;
  /** The text since the last proof. */
  let said = '';

  /** A piece of a thought that has neither proof nor id. */
  function plain(text: string): void {
    if (text === '') return;
    hasAny = true;
    said += text;
    say({ type: 'thought', form: 'text', text, ...unproven, index: null });
  }

  return {
    plain,
    hasAny: () => hasAny,
    /** Whether pieces have all that came before them. */
    isGrowing: () => growths > 1,
    /** A piece of the thought with this key. Data and what follows a signature are new thoughts. */
    piece(key: string, given: SentThought): void {
      const { form, text: sent, signature = null, id = null, format = null } = given;
      if (sent === '' && signature === null) return;
      // Some servers repeat all of a thought with its signature.
      const isWhole = signature !== null || (format === growingFormat && said !== '');
      const isRepeat = isWhole && sent.length >= said.length && sent.startsWith(said);
      // A short piece may begin like the one before it by chance.
      const isGrown = isRepeat && signature === null && sent.length > said.length;
      if (isGrown) growths += said.length < 8 ? 1 : 2;
      const text = isRepeat ? sent.slice(said.length) : sent;
      const same = open.get(key);
      const isSame = same !== undefined && (same.format ?? format) === (format ?? same.format);
      // As with tool calls, a faulty upstream could begin a new thought in every piece.
      if (!isSame && count >= callsMax) return form === 'hidden' ? undefined : plain(text);
      const thought = isSame ? same : { index: count++, format };
      if (form === 'hidden' || signature !== null) open.delete(key);
      else open.set(key, thought);
      hasAny = true;
      if (form !== 'hidden') said = signature === null ? said + text : '';
      say({ type: 'thought', form, text, signature, id, format, index: thought.index });
    },
  };
}
