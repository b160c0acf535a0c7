import { Hooks, Lexer, type MarkedToken, type Token } from 'marked';
import remend from 'remend';
import {
  withFormulas,
  withoutFormulas,
  withoutOpenFormula,
  type FormulaToken,
} from './formula-marks.ts';

export type ReadToken = MarkedToken | FormulaToken;

/** Longer paragraphs stay plain text: parsing one takes quadratic time. */
const inlineMax = 5_000;
/** Marks at the end of an unfinished text whose meaning depends on what follows. */
const undecided = /[*_~`[|]{1,16}$|(?<=^|\n)[ \t]{0,16}(?:[-+#=]{1,6}|\d{1,3}[.)]?)[ \t]?$/;
/** Deeper quotes stay plain text: each level parses all levels within it again. */
const tooDeep = /(?:> ?){50}/;

class BoundedLexer extends Lexer {
  private text = '';

  constructor() {
    const hooks = new Hooks();
    super({ ...withFormulas, hooks });
    hooks.emStrongMask = (mask) => withoutFormulas(this.text, mask);
  }

  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    this.text = text;
    if (text.length <= inlineMax) return super.inlineTokens(text, tokens);
    tokens.push({ type: 'text', raw: text, text });
    return tokens;
  }
}

/**
 * The tokens of a text in GitHub Flavored Markdown. While the text is being written, open marks at
 * its end are completed.
 */
export function readMarkdown(text: string, isWriting: boolean): ReadToken[] {
  if (tooDeep.test(text)) return [{ type: 'paragraph', raw: text, text, tokens: asText(text) }];
  const whole = isWriting
    ? remend(withoutOpenFormula(text).replace(undecided, ''), { katex: false })
    : text;
  const tokens = known(new BoundedLexer().lex(whole));
  const last = tokens.at(-1);
  // Before its second line arrives, this paragraph may still become a table.
  const isTableHead = last?.type === 'paragraph' && /^\|[^\n]*(\n[\s|:-]*)?$/.test(last.raw);
  return isWriting && isTableHead ? tokens.slice(0, -1) : tokens;
}

/** Only extensions of the parser produce other tokens, and there is one. */
export function known(tokens: Token[]): ReadToken[] {
  return tokens as ReadToken[];
}

function asText(text: string): MarkedToken[] {
  return [{ type: 'text', raw: text, text }];
}

/** URLs that a reply may link to; null for all others. */
export function safeAddress(href: string): string | null {
  return /^(https?:\/\/|mailto:)/i.test(href) ? href : null;
}
