import { isObject, itemsOf, type Json } from '../../../lib/json.ts';
import type { Say } from '../api.ts';

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
