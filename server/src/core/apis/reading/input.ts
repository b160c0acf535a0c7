import { isObject } from '../../../lib/json.ts';

/** The input of a tool call, which an upstream sends in pieces. */
export interface InputReader {
  add(piece: string): void;
  /** All that came, without what was repeated. */
  text(): string;
  /** Whether it is a complete JSON value, to which nothing can be added. */
  isComplete(): boolean;
  /** Whether it is JSON that lacks its end. */
  isOpen(): boolean;
  end(): void;
  /** Says what is left of an input that broke off. */
  cut(): void;
}

/**
 * Reads JSON that is an object beyond doubt, however it comes: encoded twice, behind an empty
 * object, or with all that came before in each piece. Says it in pieces, once it is sure how the
 * object begins.
 */
export function jsonInput(say: (text: string) => void): InputReader {
  let text = '';
  let isSaid = false;
  /** Each piece has all that came before it. */
  let isGrowing = false;
  let json = jsonEnd();

  function restOf(piece: string): string {
    if (text === '' || !piece.startsWith(text)) return piece;
    isGrowing ||= !json.awaitsValue();
    return isGrowing ? piece.slice(text.length) : piece;
  }

  function add(piece: string): void {
    if (json.isComplete()) {
      if (piece.trim() === '' || isSaid || !isEmpty(text)) return;
      [text, json] = ['', jsonEnd()];
    }
    const sent = restOf(piece);
    if (sent === '') return;
    const end = json.add(sent);
    const rest = sent.slice(0, end);
    text += rest;
    if (isSaid) say(rest);
    else if (json.isObject() && !isEmpty(text)) {
      isSaid = true;
      say(text);
    }
    if (end < sent.length) add(sent.slice(end));
  }

  return {
    add,
    text: () => text,
    isComplete: () => json.isComplete(),
    isOpen: () => json.isOpen(),
    end() {
      if (!isSaid) say(meantBy(text));
    },
    cut() {
      if (!isSaid && text !== '') say(text);
    },
  };
}

/** Reads a text as it comes. */
export function textInput(say: (text: string) => void): InputReader {
  let text = '';
  return {
    add(piece) {
      text += piece;
      if (piece !== '') say(piece);
    },
    text: () => text,
    isComplete: () => false,
    isOpen: () => false,
    end: () => {},
    cut: () => {},
  };
}

function isEmpty(text: string): boolean {
  return /^\s*(?:\{\s*\}|\[\s*\]|null|"")?\s*$/.test(text);
}

/** Clients parse the input, and cannot parse an empty text. */
function meantBy(text: string): string {
  if (isEmpty(text)) return '{}';
  const fenced = /^\s*```\w*\s([\s\S]*)```\s*$/.exec(text);
  if (fenced) return meantBy(fenced[1]!.trim());
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string' && isObject(JSON.parse(value))) return value;
  } catch {
    // Passed on as the model wrote it.
  }
  return text;
}

/** Follows JSON that comes in pieces, to see how its first value begins and where it ends. */
function jsonEnd() {
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  /** The first sign and the last one, without white space. */
  let first = '';
  let last = '';
  const isOpen = () => depth > 0 || isText;
  const isComplete = () => /^["{[]$/.test(first) && !isOpen();
  return {
    isComplete,
    isOpen,
    isObject: () => first === '{',
    /** Whether any value may come next. */
    awaitsValue: () => !isText && /[:,[]/.test(last),
    /** Returns the length of the piece up to the end of the value. */
    add(piece: string): number {
      for (let i = 0; i < piece.length; i++) {
        const code = piece.charCodeAt(i);
        if (isEscaped) isEscaped = false;
        else if (isText && code === 0x5c) isEscaped = true;
        else if (code === 0x22) isText = !isText;
        else if (isText || code <= 0x20) continue;
        else if (code === 0x7b || code === 0x5b) depth++;
        else if (code === 0x7d || code === 0x5d) depth--;
        last = piece[i]!;
        first ||= last;
        if (depth === 0 && isComplete()) return i + 1;
      }
      return piece.length;
    },
  };
}
