import { exactJson } from './long-integers.ts';

/**
 * The value of a JSON text; undefined if it is none. Takes what Python and .NET write beside JSON:
 * a byte order mark, and NaN and infinities, which become null.
 */
export function tolerantJson(text: string, parse: (text: string) => unknown = exactJson): unknown {
  try {
    return parse(text);
  } catch {
    const plain = withoutNoNumbers(text.replace(/^\uFEFF+/, ''));
    return plain === text ? undefined : tolerantJson(plain, parse);
  }
}

function withoutNoNumbers(text: string): string {
  if (!/NaN|Infinity/.test(text)) return text;
  const next = /"|-?\b(?:NaN|Infinity)\b/g;
  let plain = '';
  let from = 0;
  for (let found = next.exec(text); found; found = next.exec(text)) {
    if (found[0] === '"') next.lastIndex = endOfText(text, found.index);
    else {
      plain += `${text.slice(from, found.index)}null`;
      from = next.lastIndex;
    }
  }
  return plain + text.slice(from);
}

/** Where the text ends that begins at `start` with a quotation mark. */
export function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at + 1, text.length);
}
