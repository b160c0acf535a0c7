import { isObject, objectOf, type Json } from '../../../lib/json.ts';
import { digitsOf } from '../../../lib/long-integers.ts';
import { invalidInput } from '../writing.ts';
import { LooseJson, objectsIn } from '../../../lib/json/loose-json.ts';
import { jsonIn } from './pieces.ts';

/** An absent input, as JSON, Python and JavaScript write it. */
const nothing = /^(?:null|None|undefined)?$/;

/** The input of a tool call, which an upstream sends in pieces. */
export interface InputReader {
  /** Returns the text behind the end of the input. `isValue`: the piece is the JSON of a value. */
  add(piece: string, isValue?: boolean): string;
  /** All that came, without what was repeated. */
  text(): string;
  /** Whether it is a complete JSON value, to which nothing can be added. */
  isComplete(): boolean;
  /** Whether it is JSON that lacks its end. */
  isOpen(): boolean;
  /** Whether an object may be this one, grown. `piece`: its JSON. */
  mayBecome?(piece: string): boolean;
  end(): void;
  /** Says what is left of an input that broke off. */
  cut(): void;
}

/**
 * Reads JSON that is an object beyond doubt, however it comes: not strict, encoded twice, behind an
 * empty object, or with all that came before in each piece. Says it in pieces, once it is sure how
 * the object begins.
 */
export function jsonInput(say: (text: string) => void): InputReader {
  let text = '';
  /** The rest that is not said yet, as strict JSON. */
  let strict = '';
  let isSaid = false;
  /** Each piece has all that came before it. */
  let isGrowing = false;
  let hasBeenEmpty = false;
  let json = new LooseJson();

  const isEmpty = () => !json.hasContent() && (json.isComplete() || nothing.test(text.trim()));

  function restOf(piece: string): string {
    if (text === '' || !piece.startsWith(text)) return piece;
    const isMore = json.isObject() || piece.length > text.length;
    isGrowing ||= isMore && json.isOpen() && !json.awaitsValue();
    return isGrowing ? piece.slice(text.length) : piece;
  }

  function addNext(piece: string): string {
    const sent = restOf(piece);
    const end = json.add(sent);
    text += sent.slice(0, end);
    strict += json.said();
    isSaid ||= json.isObject() && json.hasContent();
    if (isSaid && strict !== '') {
      say(strict);
      strict = '';
    }
    return sent.slice(end);
  }

  /** Clients parse the input, and expect an object. */
  function meant(): string {
    if (isEmpty() || (hasBeenEmpty && !json.isOpen())) return '{}';
    if (json.isOpen()) return strict;
    const value = json.isComplete() ? jsonIn(strict) : null;
    if (Array.isArray(value) && value.length === 1 && isObject(value[0]))
      return JSON.stringify(value[0]);
    const inner = typeof value === 'string' ? objectsIn(value, 1).objects[0] : undefined;
    return inner ?? JSON.stringify(invalidInput(text));
  }

  return {
    add(piece) {
      let rest = piece;
      while (rest !== '') {
        if (json.isComplete()) {
          if (isSaid || !isEmpty()) return rest;
          if (rest.trim() === '') return '';
          [text, strict, hasBeenEmpty, json] = ['', '', true, new LooseJson()];
        }
        rest = addNext(rest);
      }
      return '';
    },
    text: () => text,
    isComplete: () => json.isComplete(),
    isOpen: () => json.isOpen(),
    end() {
      if (!isSaid) say(meant());
    },
    cut() {
      if (!isSaid && text !== '') say(strict || text);
    },
  };
}

/**
 * Reads an object, which each piece may have so far, or the next part of, by its fields. It is said
 * at its end only, because any field may still change.
 */
export function growingInput(reader: InputReader): InputReader {
  let held: Json | null = null;
  /** Its JSON, made when it is asked for: each piece changes it. */
  let text: string | null = null;
  const textSoFar = () => (text ??= held && JSON.stringify(held)) ?? reader.text();
  function release(): string {
    if (held === null) return '';
    const whole = textSoFar();
    [held, text] = [null, null];
    return reader.add(whole);
  }
  return {
    ...reader,
    add(piece, isValue = false) {
      const value = isValue && (held !== null || reader.text() === '') ? jsonIn(piece) : null;
      if (!isObject(value)) return release() + reader.add(piece);
      held ??= {};
      merge(held, value);
      text = null;
      return '';
    },
    text: textSoFar,
    isComplete: () => held !== null || reader.isComplete(),
    mayBecome: (piece) => held !== null && isGrown(held, objectOf(jsonIn(piece))),
    end() {
      release();
      reader.end();
    },
  };
}

function merge(all: Json, next: Json): void {
  for (const [name, value] of Object.entries(next)) {
    // Otherwise it would be written into every object of this process.
    if (name === '__proto__') continue;
    const last = Object.hasOwn(all, name) ? all[name] : undefined;
    const goesOn = typeof last === 'string' && typeof value === 'string';
    if (isObject(last) && isObject(value)) merge(last, value);
    else all[name] = goesOn && !beginsWith(value, last) ? last + value : value;
  }
}

/** Whether a value may be an earlier one, grown. Takes no longer than the later one is. */
function isGrown(last: unknown, value: unknown): boolean {
  if (isObject(last) && isObject(value))
    return Object.entries(value).every(
      ([name, each]) => !Object.hasOwn(last, name) || isGrown(last[name], each),
    );
  if (Array.isArray(last) && Array.isArray(value))
    return (
      value.length >= last.length &&
      value.every((each, i) => i >= last.length || isGrown(last[i], each))
    );
  if (typeof last === 'string' && typeof value === 'string') return beginsWith(value, last);
  return digitsOf(last) === digitsOf(value);
}

/** The length first: to compare a text that was put together copies it. */
function beginsWith(text: string, start: string): boolean {
  return text.length >= start.length && text.startsWith(start);
}

/** Reads a text as it comes. */
export function textInput(say: (text: string) => void): InputReader {
  let text = '';
  return {
    add(piece) {
      text += piece;
      if (piece !== '') say(piece);
      return '';
    },
    text: () => text,
    isComplete: () => false,
    isOpen: () => false,
    end: () => {},
    cut: () => {},
  };
}
