import { Lexer, type MarkedToken, type Token } from 'marked';
import remend from 'remend';

/** Longer paragraphs are shown as they came: reading one takes the square of its length. */
const inlineMax = 5_000;
/** Marks at the end of what has come so far, whose meaning hangs on what comes next. */
const undecided = /[*_~`[|]{1,16}$|(?<=^|\n)[ \t]{0,16}(?:[-+#=]{1,6}|\d{1,3}[.)]?)[ \t]?$/;
/** Deeper quotes are shown as they came: each level reads all the levels within it again. */
const tooDeep = /(?:> ?){50}/;

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if (text.length <= inlineMax) return super.inlineTokens(text, tokens);
    tokens.push({ type: 'text', raw: text, text });
    return tokens;
  }
}

/** The tokens of a text in GitHub's Markdown. While it is being written, its end is completed. */
export function readMarkdown(text: string, isWriting: boolean): MarkedToken[] {
  if (tooDeep.test(text)) return [{ type: 'paragraph', raw: text, text, tokens: asText(text) }];
  const whole = isWriting ? remend(text.replace(undecided, '')) : text;
  const tokens = new BoundedLexer({ gfm: true }).lex(whole) as MarkedToken[];
  const last = tokens.at(-1);
  // Until its second line is there, nobody knows that this becomes a table.
  const isTableHead = last?.type === 'paragraph' && /^\|[^\n]*(\n[\s|:-]*)?$/.test(last.raw);
  return isWriting && isTableHead ? tokens.slice(0, -1) : tokens;
}

function asText(text: string): MarkedToken[] {
  return [{ type: 'text', raw: text, text }];
}

/** Addresses that a reply may lead to; null for all others. */
export function safeAddress(href: string): string | null {
  return /^(https?:\/\/|mailto:)/i.test(href) ? href : null;
}
