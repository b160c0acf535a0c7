import { Marked, type TokenizerAndRendererExtension } from 'marked';
import { isWithinCodeBlock } from 'remend';

/** A formula in TeX; `raw` has its marks. */
export interface FormulaToken {
  type: 'formula';
  raw: string;
  text: string;
  isDisplay: boolean;
}

/** In characters. Longer formulas stay text, and so do formulas beyond this many in a reply. */
export const formulaMax = 2_000;
const formulasMax = 500;

const display = /^(?:\$\$([^$]{1,2000}?)\$\$|\\\[([^]{1,2000}?)\\\])/;
const inline =
  /^(?:\\\(([^]{1,2000}?)\\\)|\$(?![\s$])((?:\\.|[^$\\\n`]){1,2000})(?<!\s)\$(?![$\p{L}\d]))/u;
/** Where a dollar may open a formula: not in `US$5`. */
const opening = /(?<![\w$\\])\$/;
/** Where a formula on lines of its own begins. */
const ownLine = /(?<=\n) {0,3}(?:\$\$|\\\[)/g;
/** A number and then words, such as “5 in cash (US”, between the dollars of two amounts. */
const money = /^\d\S*\s(?=.*\p{L}{2})[^\\^_=+*{}<>]*$/su;
const gap = /\n[ \t]*\n/;

function found(src: string, marks: RegExp, isDisplay: boolean): FormulaToken | undefined {
  const [raw, one, two] = marks.exec(src) ?? [];
  const text = one ?? two;
  if (raw === undefined || text === undefined) return undefined;
  if (text.trim() === '' || gap.test(text) || (raw[0] === '$' && money.test(text)))
    return undefined;
  return { type: 'formula', raw, text, isDisplay };
}

const counts = new WeakMap<object, number>();

/** Undefined for each formula of a text beyond as many as it may have. */
function counted(lexer: object, token: FormulaToken | undefined): FormulaToken | undefined {
  const count = (counts.get(lexer) ?? 0) + 1;
  if (token) counts.set(lexer, count);
  return count <= formulasMax ? token : undefined;
}

const inText: TokenizerAndRendererExtension = {
  name: 'formula',
  level: 'inline',
  start: (src) => src.search(opening),
  tokenizer(src) {
    if (!/^[$\\]/.test(src)) return undefined;
    return counted(this.lexer, found(src, display, true) ?? found(src, inline, false));
  },
};

/** The formula on lines of its own at the start of this text. */
function onOwnLines(src: string): FormulaToken | undefined {
  const [before = ''] = /^ {0,3}(?=\$\$|\\\[)/.exec(src) ?? [];
  const token = found(src.slice(before.length), display, true);
  if (!token) return undefined;
  const after = /^[ \t]*(?:\n+|$)/.exec(src.slice(before.length + token.raw.length));
  return after ? { ...token, raw: before + token.raw + after[0] } : undefined;
}

const onLines: TokenizerAndRendererExtension = {
  name: 'formula_lines',
  level: 'block',
  start(src) {
    const near = src.slice(0, formulaMax);
    const end = near.search(gap);
    const paragraph = end < 0 ? near : near.slice(0, end);
    // A paragraph that is cut where no formula follows takes quadratic time.
    const starts = Array.from(paragraph.matchAll(ownLine), ({ index }) => index);
    return starts.find((at) => onOwnLines(src.slice(at)) !== undefined);
  },
  tokenizer(src) {
    return counted(this.lexer, onOwnLines(src));
  },
};

const complete =
  /\$\$[^$]{1,2000}?\$\$|\\\[[^]{1,2000}?\\\]|\\\([^]{1,2000}?\\\)|(?<![\w$\\])\$(?![\s$])[^$\n`]{1,2000}(?<!\s)\$(?![$\w])/g;

/** The text whose formulas have lost all marks of emphasis, at the same length. */
export function withoutFormulas(text: string, mask = text): string {
  let out = '';
  let from = 0;
  for (const { 0: raw, index } of text.matchAll(complete)) {
    out += mask.slice(from, index) + 'a'.repeat(raw.length);
    from = index + raw.length;
  }
  return out + mask.slice(from);
}

/** The text without the formula at its end that is not complete yet. */
export function withoutOpenFormula(text: string): string {
  const tail = text.slice(-formulaMax);
  const start = text.length - tail.length + (/^[^]*\n[ \t]*\n/.exec(tail)?.[0].length ?? 0);
  const rest = withoutFormulas(text.slice(start)).replace(/`[^`]*`/g, (code) =>
    'a'.repeat(code.length),
  );
  const at = /(?<!\\)\\(?:[[(]|$)|\$\$|\$$/.exec(rest)?.index;
  if (at === undefined || rest.slice(0, at).includes('`')) return text;
  return isWithinCodeBlock(text, start + at) ? text : text.slice(0, start + at);
}

/** Options of the parser under which formulas are tokens. */
export const withFormulas = new Marked({ gfm: true, extensions: [inText, onLines] }).defaults;
