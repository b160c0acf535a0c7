import { isObject, itemsOf, type Json } from '../../../lib/json.ts';
import type { Say } from '../api.ts';
import { callsMax, type ThoughtPiece } from '../../chat/reply.ts';

/**
 * `piece`: the next piece of the text. `whole`: the whole text, of which pieces may have come.
 * `either`: the whole text if it begins with what came before, otherwise the next piece.
 */
export type TextForm = 'piece' | 'whole' | 'either';

export interface TextReader {
  add(text: string, form: TextForm, logprobs: unknown): void;
  /** The text so far. */
  said(): string;
  /** Whether this is all of the text once more, after it came in pieces. */
  isRepeat(text: string): boolean;
}

/** Reads a text that comes in pieces, and perhaps once more as a whole. */
export function textReader(type: 'text' | 'refusal', say: Say, phase?: string): TextReader {
  let said = '';
  let pieces = 0;
  /** Log probabilities of tokens that have no text of their own, such as parts of a character. */
  let waiting: Json[] = [];

  function pieceOf(text: string, form: TextForm): string {
    if (form === 'piece') return text;
    if (text.startsWith(said)) return text.slice(said.length);
    return form === 'either' ? text : '';
  }

  return {
    said: () => said,
    isRepeat: (text) => pieces > 1 && text === said,
    add(text, form, logprobs) {
      const isNew = form === 'piece' || said === '';
      if (isNew) for (const each of itemsOf(logprobs)) if (isObject(each)) waiting.push(each);
      const piece = pieceOf(text, form);
      if (piece === '') return;
      said += piece;
      pieces++;
      const told = waiting.length > 0 ? waiting : null;
      say({ type, text: piece, logprobs: told, ...(phase !== undefined && { phase }) });
      if (told) waiting = [];
    },
  };
}

/** A piece of a thought as an upstream sends it. Values that it leaves out are absent. */
export type SentThought = Pick<ThoughtPiece, 'form' | 'text'> &
  Partial<Pick<ThoughtPiece, 'signature' | 'id' | 'format'>>;

export interface Thoughts {
  /** A piece of a thought that has neither proof nor id. */
  plain(text: string): void;
  /** A piece of the thought with this key. Data and what follows a signature are new thoughts. */
  piece(key: string, sent: SentThought): void;
  hasAny(): boolean;
}

/** Numbers the thoughts of a reply. */
export function replyThoughts(say: Say): Thoughts {
  const open = new Map<string, { index: number; format: string | null }>();
  let count = 0;
  let hasAny = false;
  /** The text since the last proof. */
  let said = '';

  function plain(text: string): void {
    if (text === '') return;
    hasAny = true;
    said += text;
    say({
      type: 'thought',
      form: 'text',
      text,
      signature: null,
      id: null,
      format: null,
      index: null,
    });
  }

  return {
    plain,
    hasAny: () => hasAny,
    piece(key, { form, text: sent, signature = null, id = null, format = null }) {
      if (sent === '' && signature === null) return;
      // Some servers repeat all of a thought with its signature.
      const isRepeat = signature !== null && sent.startsWith(said);
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
