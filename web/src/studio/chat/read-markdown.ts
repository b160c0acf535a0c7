import { Lexer, type MarkedToken, type Token } from 'marked';
import remend from 'remend';

/** Longer paragraphs stay plain text: parsing one takes quadratic time. */
const inlineMax = 5_000;
/** Marks at the end of the text so far, whose meaning depends on what follows. */
const undecided = /[*_~`[|]{1,16}$|(?<=^|\n)[ \t]{0,16}(?:[-+#=]{1,6}|\d{1,3}[.)]?)[ \t]?$/;
/** Deeper quotes stay plain text: each level parses all levels within it again. */
const tooDeep = /(?:> ?){50}/;

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if (text.length <= inlineMax) return super.inlineTokens(text, tokens);
    tokens.push({ type: 'text', raw: text, text });
    return tokens;
  }
}

/**
 * The tokens of a text in GitHub Flavored Markdown. While it is being written, its end is
 * completed.
 */
export function readMarkdown(text: string, isWriting: boolean): MarkedToken[] {
  if (tooDeep.test(text)) return [{ type: 'paragraph', raw: text, text, tokens: asText(text) }];
  const whole = isWriting ? remend(text.replace(undecided, '')) : text;
  const tokens = known(new BoundedLexer({ gfm: true }).lex(whole));
  const last = tokens.at(-1);
  // Before its second line arrives, this may or may not become a table.
  const isTableHead = last?.type === 'paragraph' && /^\|[^\n]*(\n[\s|:-]*)?$/.test(last.raw);
  return isWriting && isTableHead ? tokens.slice(0, -1) : tokens;
}

/** Only extensions of the parser make other tokens, and it has none. */
export function known(tokens: Token[]): MarkedToken[] {
  return tokens as MarkedToken[];
}

function asText(text: string): MarkedToken[] {
  return [{ type: 'text', raw: text, text }];
}

/** URLs that a reply may link to; null for all others. */
export function safeAddress(href: string): string | null {
  return /^(https?:\/\/|mailto:)/i.test(href) ? href : null;
}
