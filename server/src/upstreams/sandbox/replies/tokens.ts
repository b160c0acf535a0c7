/**
 * The sandbox's tokens, simple enough to count by hand. A text is cut into words, each with the
 * spaces in front of it. Each word is cut into pieces of at most four UTF-8 bytes (not counting
 * these spaces), never inside a character. A piece is a token. Spaces at the end of the text belong
 * to the last token.
 */

const bytesMax = 4;

/** The tokens of a text in order. Joined, they are the text again. */
export function tokenise(text: string): string[] {
  const tokens: string[] = [];
  for (const [, space, word] of text.matchAll(/(\s*)(\S+)/gu)) {
    let piece = space!;
    let bytes = 0;
    for (const char of word!) {
      const size = byteLength(char);
      if (bytes > 0 && bytes + size > bytesMax) {
        tokens.push(piece);
        piece = '';
        bytes = 0;
      }
      piece += char;
      bytes += size;
    }
    tokens.push(piece);
  }
  const tail = /\s+$/u.exec(text)?.[0];
  if (tail && tokens.length > 0) tokens[tokens.length - 1] += tail;
  return tokens;
}

/** Counts the tokens of a text without making them; stops at `enough`. */
export function countTokens(text: string, enough: number = Infinity): number {
  let count = 0;
  let bytes = 0;
  for (let i = 0; i < text.length && count < enough; i++) {
    const code = text.codePointAt(i)!;
    if (code > 0xffff) i++;
    if (isSpace(code)) {
      bytes = 0;
      continue;
    }
    const size = codeLength(code);
    if (bytes === 0 || bytes + size > bytesMax) {
      count++;
      bytes = 0;
    }
    bytes += size;
  }
  return count;
}

/** Matches the same as `\s`, which is too slow for ten million characters. */
function isSpace(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  return /\s/u.test(String.fromCodePoint(code));
}

function byteLength(char: string): number {
  return codeLength(char.codePointAt(0)!);
}

function codeLength(code: number): number {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}
