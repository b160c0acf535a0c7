/**
 * Prompt tokens without a tokeniser: an upper bound to reserve by, and a plain count for where an upstream reports none.
 *
 * The charge is clamped to the reservation, so a bound that is too low costs the operator; one that is too high only
 * holds balance until the reply. One token a UTF-8 byte is the bound that byte-level BPE itself gives, but English
 * needs only 0.21 to 0.24, so that bound would hold five times too much. `boundTokens` keeps it for everything except
 * the few classes where nine vocabularies (o200k, cl100k, Llama 2 and 3, Mistral, Claude 2, Qwen 3, DeepSeek 3,
 * Gemma 3) were measured to stay lower even on random characters; worst tokens per byte seen:
 *
 *   text                 worst  bound    text                 worst  bound
 *   English              0.24   0.57     digits, CSV          1.00   1.00
 *   German               0.33   0.58     hexadecimal          0.91   0.95
 *   Russian              0.28   0.54     base64               0.82   0.90
 *   JSON                 0.45   0.75     random a–z           0.60   0.60
 *   program text         0.47   0.65     random А–я           0.54   0.60
 *
 * Half a token a byte, the usual rule of thumb, is too low for digits (Llama 2, Mistral, Qwen and Gemma spend one token
 * on each), hexadecimal, base64 and rare scripts. Chinese, Japanese, Korean, Indic and all other scripts keep one a
 * byte: worst 0.95 for rare Chinese characters, 0.98 for rare Hangul, 1.00 for Cherokee. Not bounded: a tokeniser that
 * rewrites text first (Claude 2 applies NFKC) can spend more on a few compatibility characters.
 */

/** Figures of the rule besides text. All in tokens unless said otherwise. */
export interface TokenRule {
  /** What templates add once: start token, a system text of their own (gpt-oss about 80). */
  fixed: number;
  /** Role, separators and end mark of one message: 3 in OpenAI's form, 5 in ChatML and Llama 3, 16 in Llama 2. */
  per_message: number;
  /** What templates add once where tools are offered: Claude 3 Opus 530, others up to 346. */
  tools_fixed: number;
  per_tool: number;
  /** One picture of any size: Claude up to 4,005, GPT-4o 1,445, o4-mini 3,779, Gemini 1,120. gpt-4o-mini: 48,169. */
  per_image: number;
  /** Characters of base64 that hold one token of sound: MP3 of 8 kbit/s at Gemini's 32 tokens a second is 41. */
  audio_chars_per_token: number;
}

export const tokenRule: TokenRule = {
  fixed: 128,
  per_message: 16,
  tools_fixed: 640,
  per_tool: 16,
  per_image: 4_096,
  audio_chars_per_token: 32,
};

/** The parts of a chat body that become prompt tokens. */
export interface Prompt {
  messages: readonly unknown[];
  tools?: unknown;
  functions?: unknown;
  response_format?: unknown;
}

export interface PromptLimits {
  /** The model's window: no prompt that an upstream accepts is longer. */
  context_tokens: number;
  rule?: TokenRule;
}

/**
 * At least what the prompt will cost, at most `context_tokens`. Text by `boundTokens`, the rest by the rule's figures.
 * A part whose tokens nobody can know beforehand (a PDF, an unknown type) counts as the whole window.
 * Never throws on JSON values, whatever their shape; linear, and it stops once the window is full.
 */
export function estimatePromptTokens(prompt: Prompt, limits: PromptLimits): number {
  const { context_tokens, rule = tokenRule } = limits;
  let total = rule.fixed + toolTokens(prompt, rule, context_tokens);
  for (const message of prompt.messages) {
    if (total >= context_tokens) return context_tokens;
    total += rule.per_message + messageTokens(message, rule, context_tokens - total);
  }
  return Math.min(total, context_tokens);
}

/**
 * Tokens of a delivered text whose upstream reported no usage: a quarter of its UTF-8 bytes, rounded up, which is
 * what English, German and Russian need; never more than `boundTokens`.
 */
export function countTokens(text: string): number {
  const count = Math.ceil(Buffer.byteLength(text) / 4);
  return Math.min(count, boundTokens(text, count));
}

/** At least the tokens of a text; counting stops once there are `enough`. */
export function boundTokens(text: string, enough: number = Infinity): number {
  const enoughFifths = enough * 5;
  let fifths = 0;
  let after: number = afterOther;
  for (let i = 0; i < text.length && fifths < enoughFifths; i++) {
    const kind = kindOf(text.charCodeAt(i));
    fifths += costs[kind * 5 + after] as number;
    after = kind === space && after >= afterSpace ? afterSpaces : (next[kind] as number);
  }
  return Math.ceil(fifths / 5);
}

// Kinds of UTF-16 units.
const [other, lower, upper, space, cyrillic, twoBytes, threeBytes, half] = [0, 1, 2, 3, 4, 5, 6, 7];
// What stands before.
const [afterOther, afterLatin, afterCyrillic, afterSpace, afterSpaces] = [0, 1, 2, 3, 4];

/** What follows what, by kind; a second space in a row is the loop's affair. */
const next = [
  afterOther, afterLatin, afterLatin, afterSpace, afterCyrillic, afterOther, afterOther, afterOther,
];

/**
 * Fifths of a token, by kind and by what stands before (other, Latin, Cyrillic, one space, several spaces).
 * A word's first letter is paid by the single space before it, as every vocabulary joins the two.
 */
const costs = [
  [5, 5, 5, 5, 5], // digits, punctuation, line ends, control characters
  [5, 3, 5, 0, 5], // a to z
  [5, 5, 5, 0, 5], // A to Z
  [5, 5, 5, 1, 1], // space
  [6, 6, 6, 1, 6], // U+0400 to U+045F
  [10, 10, 10, 10, 10], // other two-byte characters
  [15, 15, 15, 15, 15], // three-byte characters
  [10, 10, 10, 10, 10], // half of a four-byte character
].flat();

function kindOf(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return lower;
  if (code === 0x20) return space;
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? upper : other;
  if (code < 0x800) return code >= 0x400 && code < 0x460 ? cyrillic : twoBytes;
  return code >= 0xd800 && code < 0xe000 ? half : threeBytes;
}
