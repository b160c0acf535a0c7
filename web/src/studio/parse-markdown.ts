/**
 * The part of Markdown that models write, as plain values. It makes no HTML: what looks like a tag
 * stays a text.
 */

export type Block =
  | { as: 'paragraph'; text: Inline[] }
  | { as: 'heading'; level: number; text: Inline[] }
  | { as: 'list'; ordered: boolean; start: number; items: Inline[][] }
  | { as: 'quote'; blocks: Block[] }
  | { as: 'code'; language: string; code: string }
  | { as: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { as: 'rule' };

export type Inline =
  | { as: 'text'; text: string }
  | { as: 'strong' | 'emphasis'; text: Inline[] }
  | { as: 'code'; text: string }
  | { as: 'link'; text: string; href: string };

const fence = /^\s{0,3}(```+|~~~+)\s*([\w+#.-]*)/;
const item = /^\s*(?:[-*+]|(\d{1,9})[.)])\s+([^]*)$/;
/** Quotes within quotes beyond this are texts. */
const depthMax = 6;

export function parseMarkdown(text: string, depth = 0): Block[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = blockAt(lines, at, depth);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

/** The block that begins in a line, and the line behind it. */
function blockAt(lines: string[], at: number, depth: number): [Block | null, number] {
  const line = lines[at]!;
  if (line.trim() === '') return [null, at + 1];
  if (fence.test(line)) return codeAt(lines, at);
  const [, marks, title = ''] = /^\s{0,3}(#{1,6})\s+([^]*)$/.exec(line) ?? [];
  if (marks)
    return [{ as: 'heading', level: marks.length, text: inline(withoutMarks(title)) }, at + 1];
  if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return [{ as: 'rule' }, at + 1];
  if (/^\s{0,3}>/.test(line) && depth < depthMax) {
    const end = endOf(lines, at, (each) => /^\s{0,3}>/.test(each));
    const inside = lines.slice(at, end).map((each) => each.replace(/^\s{0,3}> ?/, ''));
    return [{ as: 'quote', blocks: parseMarkdown(inside.join('\n'), depth + 1) }, end];
  }
  if (item.test(line)) return listAt(lines, at);
  if (isTable(lines, at)) return tableAt(lines, at);
  const end = endOf(lines, at, (each, i) => i === at || !beginsBlock(each));
  return [{ as: 'paragraph', text: inline(lines.slice(at, end).join('\n')) }, end];
}

/** A heading may be closed with the marks that it begins with. */
function withoutMarks(title: string): string {
  let end = title.trimEnd().length;
  while (title[end - 1] === '#') end--;
  return title.slice(0, end).trimEnd();
}

function endOf(lines: string[], at: number, goesOn: (line: string, i: number) => boolean): number {
  let end = at;
  while (end < lines.length && goesOn(lines[end]!, end)) end++;
  return end;
}

function beginsBlock(line: string): boolean {
  return (
    line.trim() === '' || fence.test(line) || item.test(line) || /^\s{0,3}(#{1,6}\s|>)/.test(line)
  );
}

/** One that is still being written ends where the text does. */
function codeAt(lines: string[], at: number): [Block, number] {
  const [, marks = '', language = ''] = fence.exec(lines[at]!) ?? [];
  const end = endOf(lines, at + 1, (line) => !line.trim().startsWith(marks));
  return [{ as: 'code', language, code: lines.slice(at + 1, end).join('\n') }, end + 1];
}

function listAt(lines: string[], at: number): [Block, number] {
  const [, number] = item.exec(lines[at]!) ?? [];
  const ordered = number !== undefined;
  const items: string[] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end]!;
    const [found, n, text] = item.exec(line) ?? [];
    if (found !== undefined && (n !== undefined) === ordered) items.push(text ?? '');
    else if (found !== undefined && /^\s+/.test(line)) items.push(text ?? '');
    else if (found === undefined && line.trim() !== '' && !fence.test(line) && /^\s/.test(line))
      items[items.length - 1] += `\n${line.trim()}`;
    else if (line.trim() === '' && item.test(lines[end + 1] ?? '')) continue;
    else break;
  }
  const list = { ordered, start: Number(number ?? 1), items: items.map((each) => inline(each)) };
  return [{ as: 'list', ...list }, end];
}

function isTable(lines: string[], at: number): boolean {
  const marks = lines[at + 1] ?? '';
  const first = marks.indexOf('-');
  return (
    lines[at]!.includes('|') &&
    first !== -1 &&
    first < marks.lastIndexOf('|') &&
    /^[\s:|-]*$/.test(marks)
  );
}

function tableAt(lines: string[], at: number): [Block, number] {
  const end = endOf(lines, at + 2, (line) => line.includes('|') && line.trim() !== '');
  const rows = lines.slice(at + 2, end).map(cells);
  return [{ as: 'table', head: cells(lines[at]!), rows }, end];
}

function cells(line: string): Inline[][] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => inline(cell.trim()));
}

/** Every one of them looks a bounded way ahead: a text may be long, and is read at each piece. */
const patterns: [RegExp, (found: RegExpExecArray, depth: number) => Inline][] = [
  [
    /(?<!`)(`{1,16})(?!`)([^`]|[^`][\s\S]{0,2000}?[^`])\1(?!`)/g,
    ([, , code]) => ({ as: 'code', text: code!.trim() }),
  ],
  [
    /\[([^\][\n]{1,500})\]\((https?:\/\/[^\s()]{1,2000}|mailto:[^\s()]{1,300})\)/g,
    ([, text, href]) => ({ as: 'link', text: text!, href: href! }),
  ],
  [
    /\bhttps?:\/\/[^\s<>"'`)\]]{2,2000}[^\s<>"'`)\].,;:!?]/g,
    ([url]) => ({ as: 'link', text: url, href: url }),
  ],
  [
    /\*\*(?=\S)([\s\S]{0,1000}?\S)\*\*|__(?=\S)([\s\S]{0,1000}?\S)__(?!\w)/g,
    ([, a, b], depth) => ({ as: 'strong', text: inline((a ?? b)!, depth + 1) }),
  ],
  [
    /(?<![\w*])\*(?=[^\s*])([^*\n]*?[^\s*])\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]*?\S)_(?!\w)/g,
    ([, a, b], depth) => ({ as: 'emphasis', text: inline((a ?? b)!, depth + 1) }),
  ],
];

/** The first that matches is taken, then what is left on both sides. */
export function inline(text: string, depth = 0): Inline[] {
  if (text === '') return [];
  if (depth > depthMax) return [{ as: 'text', text }];
  const parts: Inline[] = [];
  const next: Next = [];
  let at = 0;
  while (at < text.length) {
    const found = firstIn(text, at, next);
    if (!found) break;
    if (found.match.index > at) parts.push({ as: 'text', text: text.slice(at, found.match.index) });
    parts.push(found.make(found.match, depth));
    at = found.match.index + found.match[0].length;
  }
  if (at < text.length) parts.push({ as: 'text', text: text.slice(at) });
  return parts;
}

/** What each pattern finds next; null: nothing any more. */
type Next = (RegExpExecArray | null)[];

function firstIn(text: string, at: number, next: Next) {
  let first: { match: RegExpExecArray; make: (typeof patterns)[number][1] } | null = null;
  for (const [i, [pattern, make]] of patterns.entries()) {
    let match = next[i];
    // One that is still ahead is the same, wherever it is looked for from.
    if (match === undefined || (match !== null && match.index < at)) {
      pattern.lastIndex = at;
      next[i] = match = pattern.exec(text);
    }
    if (match && (first === null || match.index < first.match.index)) first = { match, make };
  }
  return first;
}
