import { createParser } from 'eventsource-parser';
import { endOfText, tolerantJson } from '../tolerant-json.ts';
import { LooseJson } from '../json/loose-json.ts';
import { verbatimJson } from '../long-integers.ts';
import { FetchError } from './fetch-error.ts';

/** Gets a JSON value (undefined: the text is not JSON), its text, and the name of its event. */
type TakePiece = (value: unknown, text: string, name: string | undefined) => void;

export interface JsonPieces {
  add(bytes: Uint8Array): void;
  /** The last line and event may lack their ends. */
  end(): void;
}

/** How many characters a line counts for, because even an empty one takes memory. */
const lineChars = 32;
/** A comment, or a field of server-sent events. */
const eventLine = /^(?:data|event|id|retry)?(?::|$)/;
/** As some servers write a field; llama.cpp has one of its own for errors. */
const looseField = /^\s*(?:(data|event|id|retry)|error)\s*:(?!$)/i;
/** The beginning of a JSON value, also of one in a text, or of a page in its place. */
const otherLine = /^\s*(?:[[{<]|"(?:data:|event:|\{))/;
/** A byte order mark, or the separator of JSON text sequences. */
const lineMarks = /^[\uFEFF\p{Cc}]+/u;

/**
 * Reads a body of JSON whose form only its bytes show: server-sent events, one value in each line,
 * one value in many lines, or a mixture, such as a plain error in a stream of events. Lines of
 * another form are skipped.
 *
 * @throws FetchError `too_large` from `add` and `end` if a piece is longer than `maxChars`
 */
export function jsonPieces(maxChars: number, take: TakePiece): JsonPieces {
  const decoder = new TextDecoder();
  const event = eventReader(take);
  const lines = lineReader();
  /** Lines of a value that is not complete yet; null: none has begun. */
  let value: string[] | null = null;
  /** Length of the complete lines of the value or event. */
  let held = 0;

  function limit(chars: number): void {
    if (held + chars <= maxChars) return;
    const message = `an event is longer than ${maxChars} characters`;
    throw new FetchError('too_large', message, { sent: true });
  }

  function endValue(): void {
    if (value === null) return;
    const text = value.join('\n').trim();
    value = null;
    held = 0;
    takeValues(text, undefined, take);
  }

  function readOther(line: string): void {
    event.end();
    const text = line.trim();
    const whole = strictValue(text);
    if (whole !== undefined || text.startsWith('<')) return takeValues(text, undefined, take);
    value = [line];
    held = line.length;
  }

  function readLine(sent: string): void {
    const plain = sent.replace(lineMarks, '');
    const line = value === null ? fieldOf(plain) : plain;
    limit(line.length);
    if (value !== null && (line === '' || !eventLine.test(line))) {
      held += line.length + lineChars;
      value.push(line);
      return limit(0);
    }
    endValue();
    if (otherLine.test(line)) return readOther(line);
    if (event.add(line)) held = 0;
    if (!line.startsWith(':')) held += line.length;
  }

  function read(text: string): void {
    for (const line of lines.add(text)) readLine(line);
    limit(lines.openChars());
  }

  return {
    add: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end() {
      read(`${decoder.decode()}\n`);
      endValue();
      event.end();
    },
  };
}

function fieldOf(line: string): string {
  if (line.startsWith('data:') || line === '') return line;
  return line.replace(looseField, (_all, name = 'data') => `${name.toLowerCase()}:`);
}

/** Splits pieces of text into lines, and looks at each character once. */
function lineReader() {
  let open = '';
  let isAfterReturn = false;
  return {
    openChars: () => open.length,
    /** The lines that have come to their end. */
    add(piece: string): string[] {
      if (piece === '') return [];
      // A piece may end between the two characters of one line's end.
      const text = isAfterReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
      isAfterReturn = piece.endsWith('\r');
      const lines = text.split(/\r\n|\r|\n/);
      lines[0] = open + lines[0]!;
      open = lines.pop()!;
      return lines;
    },
  };
}

interface EventReader {
  /** Adds a line. True if the event before it has ended. */
  add(line: string): boolean;
  /** Ends an event whose empty line is missing. */
  end(): void;
}

function eventReader(take: TakePiece): EventReader {
  const parser = createParser({
    onEvent: ({ data, event }) => {
      const text = data.trim();
      if (text !== '') takeValues(text, event, take);
    },
  });
  /** The only line of the event's data. Undefined: none has come. Null: several have. */
  let only: string | null | undefined;
  /** Whether it is a whole value; null: not known yet. */
  let isOnlyWhole: boolean | null = null;

  function end(): void {
    parser.feed('\n');
    only = undefined;
  }

  return {
    add(sent) {
      // Some servers write the field's name twice.
      const line = sent.replace(/^(?:data: ?)+(?=data:)/, '');
      const isData = line.startsWith('data:');
      // Some servers leave out the empty lines. Then whole data ends its event.
      const mayEnd = (isData || line.startsWith('event:')) && only != null;
      const isNext = mayEnd && (isOnlyWhole ??= isWhole(only!));
      if (isNext || line === '') end();
      if (isData) {
        only = only === undefined ? line.slice('data:'.length).trim() : null;
        isOnlyWhole = null;
      }
      // The parser gets whole lines, because it scans an unfinished line again with each piece.
      if (line !== '') parser.feed(`${line}\n`);
      return isNext || line === '';
    },
    end,
  };
}

function isWhole(data: string): boolean {
  return data === endMark || strictValue(data) !== undefined;
}

/** Takes a value, or several that stand behind each other. */
function takeValues(text: string, name: string | undefined, take: TakePiece): void {
  const whole = parseEvent(text);
  // Some proxies write all of a stream as one JSON text.
  if (typeof whole === 'string' && /^(?:data|event):/.test(whole)) {
    const inner = jsonPieces(Infinity, take);
    inner.add(Buffer.from(whole));
    return inner.end();
  }
  if (whole !== undefined || !/^[[{]/.test(text)) return take(whole, text, name);
  let at = 0;
  while (at < text.length) {
    const start = at + text.slice(at).search(/[[{]|$/);
    const end = endOfValue(text, start);
    // Only the last of them may be something else.
    const each = (end > start ? text.slice(start, end) : text.slice(at)).trim();
    if (each !== '') take(each === text ? undefined : parseEvent(each), each, name);
    at = Math.max(end, at + 1);
  }
}

/** Where the value ends that begins at `start` with a bracket. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') at = endOfText(text, at) - 1;
    else if (char === '{' || char === '[') depth++;
    else if ((char === '}' || char === ']') && --depth === 0) return at + 1;
  }
  return text.length;
}

/** The last event of nearly every stream, which is no JSON. */
const endMark = '[DONE]';

function strictValue(text: string): unknown {
  // The error that it would throw costs more than reading several events.
  if (text === endMark) return undefined;
  return tolerantJson(text, verbatimJson);
}

/** The most characters and levels of a faulty value that is read, because that takes long. */
const looseMaxChars = 1024 * 1024;
const looseMaxDepth = 256;

function parseEvent(text: string): unknown {
  const value = strictValue(text);
  const isLoose = value === undefined && /^[[{]/.test(text) && text.length <= looseMaxChars;
  return isLoose ? tolerantJson(strictOf(text), verbatimJson) : value;
}

/** Strict JSON in place of what faulty servers write: raw control signs, other escapes. */
function strictOf(text: string): string {
  const json = new LooseJson(looseMaxDepth);
  return json.add(text) === text.length && json.isComplete() ? json.said() : '';
}
