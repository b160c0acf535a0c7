/** No quote, escape, control sign or half of a character: most of any text. */
const plain = /[^"'\\\p{Cc}\p{Cs}]+/uy;
const word = /[\w.+-]+/y;
/** A word before the value, such as `json`, perhaps with the marks of a code block. */
const heading = /^\s*(?:```)?\w*\s*$/;
const headMaxChars = 64;
const openEscape = /^\\(?:u[\da-fA-F]{0,3}|x[\da-fA-F]?)?$/;
const validEscape = /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})$/;
/** Halves of a character beyond 16 bits, as escapes or by themselves. */
const firstHalf = /^(?:\\u[dD][89abAB]|[\ud800-\udbff]$)/;
const secondHalf = /^(?:\\u[dD][c-fC-F]|[\udc00-\udfff]$)/;
const validNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Values as JSON, Python and JavaScript write them. */
const literals = new Map(
  Object.entries({
    true: ['true', 'True'],
    false: ['false', 'False'],
    null: ['null', 'None', 'undefined', 'NaN', 'nan', 'Infinity', '-Infinity'],
  }).flatMap(([own, all]) => all.map((each) => [each, own])),
);

/**
 * Reads one JSON value as models write it, in pieces, and makes strict JSON of it: other quotes,
 * Python's words, commas before an end, bare keys, control signs in texts, a word before it. Stops
 * at a sign without a plain meaning, so that the result is always the beginning of valid JSON.
 */
export class LooseJson {
  readonly #depthMax: number;
  readonly #closers: string[] = [];
  #place: 'value' | 'key' | 'colon' | 'next' = 'value';
  #head = '';
  #first = '';
  #quote = '';
  #escape = '';
  /** The first half of a character, of which the second may come. */
  #half = '';
  #bare = '';
  /** A comma and the space after it, which are dropped before an end. */
  #comma = '';
  #hasContent = false;
  #isStuck = false;
  #strict = '';

  constructor(depthMax = Infinity) {
    this.#depthMax = depthMax;
  }

  isComplete(): boolean {
    return this.#first !== '' && this.#closers.length + this.#quote.length === 0 && !this.#isStuck;
  }

  /** Whether a value has begun that is not complete. */
  isOpen(): boolean {
    return this.#first !== '' && !this.isComplete();
  }

  isObject(): boolean {
    return this.#first === '{';
  }

  /** Whether it is more than an empty object, list or text. */
  hasContent(): boolean {
    return this.#hasContent;
  }

  /** Whether any value may come next. */
  awaitsValue(): boolean {
    return this.#closers.length > 0 && this.#place === 'value' && this.#quote + this.#bare === '';
  }

  /** Returns the length of the piece up to the end of the value. */
  add(piece: string): number {
    for (let at = 0; at < piece.length && !this.#isStuck;) {
      at = this.#quote === '' ? this.#readSign(piece, at) : this.#readText(piece, at);
      if (this.isComplete()) return at;
    }
    return piece.length;
  }

  /** The strict JSON since the last call. */
  said(): string {
    const text = this.#strict;
    this.#strict = '';
    return text;
  }

  #begin(text: string): void {
    this.#hasContent ||= this.#closers.length > 0;
    this.#strict += this.#comma + text;
    this.#comma = '';
  }

  #endText(): void {
    this.#place = this.#place === 'key' ? 'colon' : 'next';
  }

  #endBare(): void {
    const bare = this.#bare;
    const value = validNumber.test(bare) ? bare : literals.get(bare);
    if (this.#place === 'key') this.#begin(JSON.stringify(bare));
    else if (this.#place === 'value' && value !== undefined) this.#begin(value);
    else this.#isStuck = true;
    this.#bare = '';
    this.#endText();
  }

  /** Each reader takes one sign or more, and returns where the next begins. */
  #readEscape(sign: string, at: number): number {
    this.#escape += sign;
    const escape = this.#escape;
    if (openEscape.test(escape)) return at + 1;
    this.#escape = '';
    const isHex = /^\\x[\da-fA-F]{2}$/.test(escape);
    const known = isHex ? `\\u00${escape.slice(2)}` : validEscape.test(escape) ? escape : null;
    // Another sign stands for itself, as in a path of Windows.
    if (known === null && sign !== "'") this.#addText(`\\\\${escape.slice(1, -1)}`);
    else this.#addText(known ?? sign);
    return known === null && sign !== "'" ? at : at + 1;
  }

  /** Adds signs of a text, or an escape. Half a character alone is none, and clients fail at it. */
  #addText(text: string): void {
    const half = this.#half;
    // Only a sign or an escape is a half.
    if (half === '' && text.length > 6) {
      this.#strict += text;
      return;
    }
    const isSecond = secondHalf.test(text);
    this.#half = firstHalf.test(text) ? text : '';
    if (half !== '' && isSecond)
      this.#strict += half.length === text.length ? half + text : escaped(half) + escaped(text);
    else {
      if (half !== '') this.#strict += '\ufffd';
      if (this.#half === '') this.#strict += isSecond ? '\ufffd' : text;
    }
  }

  #readText(piece: string, at: number): number {
    const sign = piece[at]!;
    this.#hasContent ||= sign !== this.#quote;
    if (this.#escape !== '') return this.#readEscape(sign, at);
    plain.lastIndex = at;
    const run = plain.exec(piece)?.[0] ?? sign;
    if (sign === '\\' && /["\\/bfnrt]/.test(piece[at + 1] ?? '')) {
      this.#addText(sign + piece[at + 1]);
      return at + 2;
    }
    if (sign === '\\') this.#escape = sign;
    else if (sign === this.#quote) {
      this.#addText('"');
      this.#quote = '';
      this.#endText();
    } else this.#addText(run === sign && !/\p{Cs}/u.test(sign) ? escaped(sign) : run);
    return at + run.length;
  }

  #readHead(sign: string): void {
    const isBracket = sign === '{' || sign === '[';
    if (isBracket || sign === '"' || sign === "'") {
      this.#isStuck = isBracket ? !heading.test(this.#head) : this.#head !== '';
      this.#first = this.#isStuck ? '' : sign;
    } else if (this.#head !== '' || sign.trim() !== '') this.#head += sign;
    this.#isStuck ||= this.#head.length > headMaxChars;
  }

  #readSign(piece: string, at: number): number {
    const sign = piece[at]!;
    if (this.#first === '') this.#readHead(sign);
    if (this.#first === '') return at + 1;
    word.lastIndex = at;
    const run = word.exec(piece)?.[0];
    if (run !== undefined) {
      this.#bare += run;
      return at + run.length;
    }
    if (this.#bare !== '') this.#endBare();
    if (!this.#isStuck) this.#take(sign);
    return at + 1;
  }

  #take(sign: string): void {
    const place = this.#place;
    const isEnd = sign === ']' ? place === 'value' : place === 'key';
    if (/\s/.test(sign)) {
      const space = /[ \t\r\n]/.test(sign) ? sign : ' ';
      if (this.#comma === '') this.#strict += space;
      else this.#comma += space;
    } else if (/["']/.test(sign) && (place === 'value' || place === 'key')) {
      this.#begin('"');
      this.#quote = sign;
    } else if (/[{[]/.test(sign) && place === 'value') {
      this.#begin(sign);
      this.#closers.push(sign === '{' ? '}' : ']');
      this.#isStuck = this.#closers.length > this.#depthMax;
      this.#place = sign === '{' ? 'key' : 'value';
    } else if (sign === this.#closers.at(-1) && (place === 'next' || isEnd)) {
      this.#strict += this.#comma.slice(1) + sign;
      this.#comma = '';
      this.#closers.pop();
      this.#place = 'next';
    } else if (sign === ':' && place === 'colon') {
      this.#strict += sign;
      this.#place = 'value';
    } else if (sign === ',' && place === 'next') {
      this.#comma = sign;
      this.#place = this.#closers.at(-1) === '}' ? 'key' : 'value';
    } else this.#isStuck = true;
  }
}

/** A sign as the escape that stands for it in a text, if it needs one; an escape as it is. */
function escaped(sign: string): string {
  return sign.length === 1 ? JSON.stringify(sign).slice(1, -1) : sign;
}

/** The objects in a text, as strict JSON, and whether the last one lacks its end. */
export function objectsIn(text: string, max: number): { objects: string[]; isOpen: boolean } {
  const objects: string[] = [];
  for (let rest = text; rest.trim() !== '' && objects.length < max;) {
    const json = new LooseJson();
    rest = rest.slice(json.add(rest));
    if (!json.isComplete()) return { objects, isOpen: json.isOpen() && json.isObject() };
    if (json.isObject() && json.hasContent()) objects.push(json.said());
  }
  return { objects, isOpen: false };
}
