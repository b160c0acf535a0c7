import type { Block, Conversation, MediaBlock, Tool } from './conversation.ts';

/**
 * Counts tokens without a tokeniser: an upper bound for reservations, and a plain count for charges
 * when an upstream reports no usage.
 *
 * A charge never exceeds the reservation. So a bound that is too low costs the operator money; a
 * bound that is too high only reserves more balance until the reply. Byte-level BPE uses at most
 * one token per UTF-8 byte, but English needs 0.21 to 0.24, so that limit would reserve about five
 * times too much. `boundTokens` counts less than that limit only for Latin letters, lower-case
 * Russian letters and runs of spaces. It was compared with nine vocabularies (o200k, cl100k,
 * Llama 2 and 3, Mistral, Claude 2, Qwen 3, DeepSeek 3, Gemma 3). "worst" is the vocabulary with
 * the most tokens. All figures are tokens per byte:
 *
 *   text          worst  bound    text             worst  bound    text              worst  bound
 *   English        0.24   0.72    digits, CSV       1.00   1.00    Chinese            0.43   1.00
 *   German         0.33   0.73    hexadecimal       0.90   0.98    rare Chinese       0.95   1.00
 *   Russian        0.28   0.67    base64            0.82   0.99    Korean             0.53   1.00
 *   JSON           0.45   0.87    random ASCII      0.87   0.99    Hindi              0.45   1.00
 *   program text   0.47   0.80    random a–z        0.60   0.92    Cherokee, NKo      1.00   1.00
 *
 * Half a token per byte, the usual rule of thumb, is too low for digits (Llama 2, Mistral, Qwen and
 * Gemma use one token for each), hexadecimal, base64 and rare scripts. A search for texts above the
 * bound, made of repeated random pieces of one to seven characters, found none among 30,000 in
 * o200k and cl100k.
 */

/** The numbers of a rule, in tokens unless stated otherwise. */
export interface TokenRule {
  /** Added once by chat templates: a start token and a system text (gpt-oss: about 80). */
  fixed: number;
  /**
   * Role, separators and end mark of a message: 3 in OpenAI's format, 5 in ChatML and Llama 3, 16
   * in Llama 2.
   */
  per_message: number;
  /** Added once by chat templates if tools are offered: Claude 3 Opus 530, others up to 346. */
  tools_fixed: number;
  per_tool: number;
  /**
   * Maximum number of tokens of an image of any size: Claude ≤ 4,005, o4-mini 3,779, GPT-4o 1,445,
   * Gemini 1,120. A row that needs more states it (gpt-4o-mini 48,169).
   */
  per_image: number;
  /** Base64 characters per token of audio: 41 for MP3 of 8 kbit/s at Gemini's 32 tokens/s. */
  audio_chars_per_token: number;
  /** For a part whose tokens cannot be known, such as a PDF, or audio given by its address. */
  per_unknown: number;
}

export const boundRule: TokenRule = {
  fixed: 128,
  per_message: 16,
  tools_fixed: 640,
  per_tool: 16,
  per_image: 4_096,
  audio_chars_per_token: 32,
  per_unknown: Infinity,
};

/** The smallest known values: a count without the upstream's usage must not overcharge. */
export const countRule: TokenRule = {
  fixed: 0,
  per_message: 3,
  tools_fixed: 0,
  per_tool: 0,
  per_image: 85,
  audio_chars_per_token: 4_096,
  per_unknown: 0,
};

/**
 * For a call that broke off and so has no usage: text is counted, but images, audio and files cost
 * as much as was reserved for them. Otherwise, leaving before the usage arrives would make a prompt
 * full of them cheap.
 */
export const unfinishedRule: TokenRule = {
  ...countRule,
  per_image: boundRule.per_image,
  audio_chars_per_token: boundRule.audio_chars_per_token,
  per_unknown: boundRule.per_unknown,
};

/**
 * The tokens to charge for a delivered text if the upstream reported no usage: a quarter of its
 * UTF-8 bytes, rounded up, which is about what English and Russian need. Never more than
 * `boundTokens`, which counts at least a third of a token per byte on average.
 */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** An upper bound for the tokens of a text; counting stops at `enough`. */
export function boundTokens(text: string, enough: number = Infinity): number {
  const enoughThirds = enough * 3;
  let thirds = 0;
  let after: number = afterOther;
  for (let i = 0; i < text.length && thirds < enoughThirds; i++) {
    const code = text.charCodeAt(i);
    const kind = kindOf(code);
    const written = code < 0x80 ? undefined : rewritten().get(code);
    thirds += written ?? costs[kind * 6 + after]!;
    after = kind === space && after >= afterSpace ? afterSpaces : next[kind]!;
  }
  return Math.ceil(thirds / 3);
}

// Kinds of UTF-16 units.
const [other, vowel, consonant, rare, upper, space, russian, twoBytes, threeBytes, half] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];
// Kinds of the unit before.
const [afterOther, afterVowel, afterConsonant, afterRussian, afterSpace, afterSpaces] = [
  0, 1, 2, 3, 4, 5,
];

/** The column of `costs` after a unit of each kind; the loop handles a second space in a row. */
const next = [
  afterOther, // other
  afterVowel, // vowel
  afterConsonant, // consonant
  afterOther, // rare
  afterOther, // upper
  afterSpace, // space
  afterRussian, // russian
  afterOther, // twoBytes
  afterOther, // threeBytes
  afterOther, // half
];

/**
 * The cost of a unit in thirds of a token, by its kind (rows) and by the unit before (columns):
 * other, vowel, consonant, Russian, one space, several spaces. After a single space, a Latin word's
 * first letter is free, because the space has paid for it: every vocabulary joins the two.
 * Vocabularies are made from words, so they seldom join letters that rarely follow each other. For
 * this reason a whole token is the cost of a vowel after a vowel, a consonant after a consonant,
 * one of the rarest letters, and any letter after one of these. A second space also costs a whole
 * token, because it may be a token of its own before a digit.
 */
const costs = [
  [3, 3, 3, 3, 3, 3], // digits, punctuation, line ends, control characters
  [3, 3, 2, 3, 0, 3], // a e i o u
  [3, 2, 3, 3, 0, 3], // the other lower-case letters
  [3, 3, 3, 3, 0, 3], // j q x z
  [3, 3, 3, 3, 0, 3], // A to Z
  [3, 3, 3, 3, 3, 1], // space
  [4, 4, 4, 4, 3, 4], // а to я
  [6, 6, 6, 6, 6, 6], // other two-byte characters
  [9, 9, 9, 9, 9, 9], // three-byte characters
  [6, 6, 6, 6, 6, 6], // half of a four-byte character
].flat();

const lowerKinds = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => {
  if ('aeiou'.includes(letter)) return vowel;
  return 'jqxz'.includes(letter) ? rare : consonant;
});

function kindOf(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return lowerKinds[code - 0x61]!;
  if (code === 0x20) return space;
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? upper : other;
  if (code < 0x800) return code >= 0x430 && code < 0x450 ? russian : twoBytes;
  return code >= 0xd800 && code < 0xe000 ? half : threeBytes;
}

let rewrites: ReadonlyMap<number, number> | undefined;

/**
 * The cost, in thirds of a token, of characters that grow when a tokeniser normalises text first
 * (NFKC): one token for each resulting byte.
 */
function rewritten(): ReadonlyMap<number, number> {
  if (rewrites !== undefined) return rewrites;
  const made = new Map<number, number>();
  for (let code = 0x80; code < 0x10000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const text = String.fromCharCode(code);
    const bytes = Buffer.byteLength(text.normalize('NFKC'));
    if (bytes > Buffer.byteLength(text)) made.set(code, bytes * 3);
  }
  rewrites = made;
  return made;
}

/** The parts of a conversation that become prompt tokens. */
export interface Prompt extends Pick<Conversation, 'turns' | 'tools' | 'format'> {
  /** Stored files, by the value that names them; their size counts in place of their bytes. */
  files?: StoredSizes;
}

export type StoredSizes = Readonly<Record<string, { size: number }>>;

interface Counter {
  rule: TokenRule;
  files: StoredSizes;
  text(text: string, enough: number): number;
}

/**
 * The tokens to reserve for a prompt: at least what it will cost, with the row's tokens per image;
 * at most `enough`, by default the model's context window, because no upstream accepts more. Takes
 * linear time, and stops once there are enough.
 */
export function boundPromptTokens(
  prompt: Prompt,
  model: { context_tokens: number; image_tokens?: number },
  enough: number = model.context_tokens,
): number {
  const { image_tokens: per_image = boundRule.per_image } = model;
  return promptTokens(prompt, enough, { ...boundRule, per_image }, boundTokens);
}

/** The tokens to charge without a reported usage. Never more than `boundPromptTokens`. */
export function countPromptTokens(
  prompt: Prompt,
  context_tokens: number,
  rule: TokenRule = countRule,
): number {
  return promptTokens(prompt, context_tokens, rule, countTokens);
}

function promptTokens(
  prompt: Prompt,
  enough: number,
  rule: TokenRule,
  text: Counter['text'],
): number {
  const counter = { rule, text, files: prompt.files ?? {} };
  let total = rule.fixed + toolTokens(prompt, counter, enough);
  for (const { name, blocks } of prompt.turns) {
    if (total >= enough) return enough;
    total += rule.per_message * messagesIn(blocks);
    if (name !== null) total += text(name, enough - total);
    total += blocksTokens(blocks, counter, enough - total);
  }
  return Math.min(total, enough);
}

/** With many services, each result of a tool is a message of its own. */
function messagesIn(blocks: readonly Block[]): number {
  const results = blocks.filter(({ type }) => type === 'result').length;
  return Math.max(1, results + (results < blocks.length ? 1 : 0));
}

function toolTokens({ tools, format }: Prompt, counter: Counter, enough: number): number {
  const { rule } = counter;
  const total = format === null ? 0 : counter.text(JSON.stringify(format), enough);
  if (tools.length === 0) return total;
  const written = tools.map(asWritten).join();
  return total + rule.tools_fixed + tools.length * rule.per_tool + counter.text(written, enough);
}

/** Services show a tool to the model in about this form. */
function asWritten({ name, description, parameters, custom }: Tool): string {
  const own = { name, description, parameters, ...custom?.grammar };
  return JSON.stringify({ type: 'function', function: own });
}

function blocksTokens(blocks: readonly Block[], counter: Counter, enough: number): number {
  let total = 0;
  for (const block of blocks) {
    if (total >= enough) break;
    total += blockTokens(block, counter, enough - total);
  }
  return total;
}

function blockTokens(block: Block, counter: Counter, enough: number): number {
  const { rule } = counter;
  switch (block.type) {
    case 'text':
    case 'refusal':
      return counter.text(block.text, enough);
    case 'thought':
      return counter.text(block.text, enough) + counter.text(block.signature ?? '', enough);
    case 'call': {
      const { id, name, input } = block;
      const call = { id, type: 'function', function: { name, arguments: input } };
      return counter.text(JSON.stringify(call), enough);
    }
    case 'result':
      return counter.text(block.call, enough) + blocksTokens(block.blocks, counter, enough);
    case 'image':
      return rule.per_image;
    case 'audio': {
      const chars = audioChars(block, counter);
      return chars === null ? rule.per_unknown : Math.ceil(chars / rule.audio_chars_per_token);
    }
    case 'file':
      return rule.per_unknown;
  }
}

/** The number of base64 characters that the model is given; null if it is unknown. */
function audioChars({ media }: MediaBlock, { files }: Counter): number | null {
  const { from, value } = media;
  if (Object.hasOwn(files, value)) return 4 * Math.ceil(files[value]!.size / 3);
  return from === 'base64' ? value.length : null;
}
