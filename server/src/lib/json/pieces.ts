import { randomBytes } from 'node:crypto';
import { exactJson } from '../long-integers.ts';
import { messageOf } from '../unknown.ts';
import { demandHarmless, demandNoPoison, JsonError, tooDeep } from './problem.ts';

/**
 * A long JSON text, parsed piece by piece, so that other work can go on in between: `JSON.parse`
 * takes 50 ms for some texts of 10 MiB. A piece ends before a comma. The lists and objects that are
 * open there are closed, and opened again before the comma:
 *
 *     {"a":[1,2 | ,3],"b":4}    becomes    {"a":[1,2]}    and    {"MARK":[0,3],"b":4}
 *
 * So each piece is valid exactly if its part of the text is, and what is open goes on with the
 * members of the next piece.
 */

export interface JsonLimits {
  /** Maximum nesting of arrays and objects; `[]` is 1, a plain number 0. May be 1,000 at most. */
  depth: number;
  /** Maximum number of values in a long text: a million empty lists take seconds to walk. */
  values: number;
}

/** A list or an object of the result. */
type Container = unknown[] | Record<string, unknown>;

/**
 * Characters of a piece, at least, because a string is never cut. A shorter text is parsed at once.
 * A longer one is looked through first, because V8 needs 2 s for five million levels (10 MiB).
 */
const pieceUsual = 16 * 1024;

/**
 * Names of an object in a long text. V8 sorts the names of a large object at each walk: 50 ms for
 * 90,000.
 */
const namesMax = 10_000;

/** A piece that is so many times as long is parsed in steps. */
const longPieces = 8;

/** The key of an open member in a piece. Nobody can guess it, so no text has it. */
const mark = randomBytes(12).toString('hex');

/** A list or object that is open at some place of the text. */
interface Level {
  isList: boolean;
  /** Where its key begins and ends; null if it has none, as in a list. */
  key: [from: number, to: number] | null;
  /** The key, once it was read. */
  name?: string;
  /** Commas so far. */
  commas: number;
}

/** Looks for the ends of pieces. */
class Scan {
  readonly text: string;
  readonly #limits: JsonLimits;
  readonly levels: Level[] = [];
  #at = 0;
  #seen = 1;
  #string: [from: number, to: number] = [0, 0];

  constructor(text: string, limits: JsonLimits) {
    this.text = text;
    this.#limits = limits;
  }

  /** The next comma at which a piece may end: from here on, and with a member before it. */
  nextCut(from: number): number | null {
    const { text } = this;
    let isFirst = false;
    for (let i = this.#at; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === quote) {
        const end = closingQuote(text, i);
        this.#string = [i, end + 1];
        i = end;
      } else if (code === openList || code === openObject) {
        this.#open(code === openList);
        isFirst = true;
      } else if (code === closeList || code === closeObject) {
        this.levels.pop();
        isFirst = false;
      } else if (code === comma) {
        this.#count();
        this.#countName();
        if (i >= from && !isFirst && this.levels.length > 0) {
          this.#at = i + 1;
          return i;
        }
        isFirst = false;
      }
    }
    return null;
  }

  #open(isList: boolean): void {
    const hasKey = this.levels.at(-1)?.isList === false;
    this.levels.push({ isList, key: hasKey ? this.#string : null, commas: 0 });
    if (this.levels.length > this.#limits.depth) throw tooDeep(this.#limits.depth);
    this.#count();
  }

  /** The keys of the open lists and objects; '' where there is none. For valid text only. */
  names(): string[] {
    return this.levels.map((level) => {
      // Read once, because a key may have millions of characters.
      const { key } = level;
      level.name ??= key === null ? '' : (JSON.parse(this.text.slice(...key)) as string);
      return level.name;
    });
  }

  #countName(): void {
    const level = this.levels.at(-1);
    if (level && !level.isList && ++level.commas >= namesMax)
      throw new JsonError(
        `An object of the body has too many names; at most ${namesMax} are allowed.`,
      );
  }

  #count(): void {
    this.#seen += 1;
    const { values } = this.#limits;
    if (this.#seen > values)
      throw new JsonError(`The body holds too many values; at most ${values} are allowed.`);
  }
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** A search per quote is fast in plain text, and steps are in text full of escapes. */
const stepsMax = 64;

function closingQuote(text: string, openingQuote: number): number {
  let from = openingQuote + 1;
  for (;;) {
    const end = text.indexOf('"', from);
    if (end === -1) return text.length;
    let before = end - 1;
    while (before >= from && text.charCodeAt(before) === backslash) before--;
    // After an even number of backslashes, which escape each other, the quote is not escaped.
    if ((end - before) % 2 === 1) return end;
    from = end + 1;
    for (let steps = 0; steps < stepsMax; steps++) {
      const code = text.charCodeAt(from);
      if (code === quote) return from;
      from += code === backslash ? 2 : 1;
    }
  }
}

/** Yields between pieces, and the steps of a long one; returns the value. Throws `JsonError`. */
export function* inPieces(
  text: string,
  limits: JsonLimits,
  pieceChars = pieceUsual,
): Generator<void, unknown> {
  const scan = new Scan(text, limits);
  let spine: Spine = { open: [], names: [], path: [] };
  let head = '';
  let from = 0;
  for (;;) {
    const end = text.length < pieceChars ? null : scan.nextCut(from + pieceChars);
    const closing = scan.levels.map(({ isList }) => (isList ? ']' : '}')).reverse();
    const part = end === null ? text.slice(from) : text.slice(from, end) + closing.join('');
    // A piece with a long string: looking for its end took a while, and so will each next step.
    const isHuge = part.length >= longPieces * pieceUsual;
    if (isHuge) yield;
    const piece = parsePiece(head + part, from, head === '' && end === null);
    if (isHuge) yield;
    // Well-formed UTF-8 has no lone surrogates and JSON no raw NUL: only escapes can produce them.
    const escaped = part.includes('\\u');
    demandHarmless(piece, limits.depth, escaped, (path) => wholePath(path, spine));
    join(spine, piece);
    const root = spine.open[0] ?? piece;
    if (end === null) return root;
    spine = spineOf(root as Container, scan.names());
    head = scan.levels.map(openAgain).join('');
    from = end;
    yield;
  }
}

function parsePiece(text: string, from: number, isWhole: boolean): unknown {
  try {
    return exactJson(text);
  } catch (error) {
    // V8 quotes a few characters of the body, which may cut a surrogate pair in two.
    const why = isWhole ? `: ${messageOf(error).toWellFormed()}` : ` after ${from} characters.`;
    throw new JsonError(`The body is not valid JSON${why}`);
  }
}

/** Opens a list or object again in the next piece, with something before the comma. */
function openAgain({ isList }: Level, at: number, { length }: Level[]): string {
  return (isList ? '[' : `{"${mark}":`) + (at === length - 1 ? '0' : '');
}

/** The lists and objects that are open where a piece ended, from the root on. */
interface Spine {
  open: readonly Container[];
  /** Their keys; '' where there is none. */
  names: readonly string[];
  /** The keys and indexes from the root to the innermost. */
  path: readonly (string | number)[];
}

/** Each is the last member of the one before. */
function spineOf(root: Container, names: readonly string[]): Spine {
  const open = [root];
  const path: (string | number)[] = [];
  for (const name of names.slice(1)) {
    const outer = open.at(-1)!;
    path.push(Array.isArray(outer) ? outer.length - 1 : name);
    open.push((Array.isArray(outer) ? outer.at(-1) : outer[name]) as Container);
  }
  return { open, names, path };
}

/** Adds the members of a piece to the lists and objects that were open before it. */
function join({ open, names, path }: Spine, piece: unknown): void {
  let members = piece;
  for (const [level, container] of open.entries()) {
    members = add(container, members);
    demandNoPoison(names[level]!, container, path.slice(0, Math.max(0, level - 1)));
  }
}

/** Adds all members but the one that was open; returns that one. */
function add(container: Container, members: unknown): unknown {
  if (Array.isArray(container)) {
    const items = members as unknown[];
    for (let i = 1; i < items.length; i++) container.push(items[i]);
    return items[0];
  }
  const object = members as Record<string, unknown>;
  for (const key in object) if (key !== mark) container[key] = object[key];
  return object[mark];
}

/** The path in the whole body of a path in a piece. */
function wholePath(piecePath: readonly (string | number)[], { open, path }: Spine) {
  let shared = 0;
  while (shared < path.length && (piecePath[shared] === 0 || piecePath[shared] === mark)) shared++;
  const [first, ...rest] = piecePath.slice(shared);
  const container = open[shared];
  if (first === undefined) return path.slice(0, shared);
  const own = Array.isArray(container) ? container.length - 1 + Number(first) : first;
  return [...path.slice(0, shared), own, ...rest];
}
