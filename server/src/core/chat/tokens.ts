import { isBase64 } from '../../lib/base64.ts';
import { isObject } from '../../lib/json.ts';

/**
 * Tokens without a tokeniser: an upper bound to reserve by, and a plain count for when an upstream
 * reports no usage.
 *
 * The charge is clamped to the reservation, so a bound that is too low costs the operator; one that
 * is too high only holds balance until the reply. One token a UTF-8 byte is the limit that
 * byte-level BPE itself sets, but English needs 0.21 to 0.24, so that would hold five times too
 * much. `boundTokens` keeps that limit for everything except Latin and lower-case Russian letters
 * and runs of spaces. Nine vocabularies (o200k, cl100k, Llama 2 and 3, Mistral, Claude 2, Qwen 3,
 * DeepSeek 3, Gemma 3) were measured against it; the worst of them, in tokens per byte:
 *
 *   text          worst  bound    text             worst  bound    text              worst  bound
 *   English        0.24   0.72    digits, CSV       1.00   1.00    Chinese            0.43   1.00
 *   German         0.33   0.73    hexadecimal       0.90   0.98    rare Chinese       0.95   1.00
 *   Russian        0.28   0.67    base64            0.82   0.99    Korean             0.53   1.00
 *   JSON           0.45   0.87    random ASCII      0.87   0.99    Hindi              0.45   1.00
 *   program text   0.47   0.80    random a–z        0.60   0.92    Cherokee, NKo      1.00   1.00
 *
 * Half a token a byte, the usual rule of thumb, is too low for digits (Llama 2, Mistral, Qwen and
 * Gemma spend one token on each), hexadecimal, base64 and rare scripts. Texts made to pass the
 * bound were searched for by repeating random pieces of one to seven characters: in o200k and
 * cl100k none of 30,000 passes it.
 */

/** Numbers of the rule besides text, in tokens unless stated otherwise. */
export interface TokenRule {
  /** Added once by templates: start token, a system text of their own (gpt-oss about 80). */
  fixed: number;
  /**
   * Role, separators, end mark of a message: 3 in OpenAI's form, 5 in ChatML and Llama 3, 16 in
   * Llama 2.
   */
  per_message: number;
  /** Added once by templates if tools are offered: Claude 3 Opus 530, others up to 346. */
  tools_fixed: number;
  per_tool: number;
  /**
   * An image of any size: Claude ≤ 4,005, o4-mini 3,779, GPT-4o 1,445, Gemini 1,120. A row that
   * needs more says so (gpt-4o-mini 48,169).
   */
  per_image: number;
  /**
   * Characters of base64 that hold one token of audio: 41 for MP3 of 8 kbit/s at Gemini's 32 tokens
   * a second.
   */
  audio_chars_per_token: number;
  /** A part whose tokens nobody can know beforehand: a PDF, audio at an address. */
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

/** The smallest known values, because what is counted without proof goes on the caller's bill. */
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
 * For a call without an end and so without usage: text by the count, but images, audio and files as
 * reserved. Otherwise leaving before the usage comes would make a prompt full of them cheap.
 */
export const unfinishedRule: TokenRule = {
  ...countRule,
  per_image: boundRule.per_image,
  audio_chars_per_token: boundRule.audio_chars_per_token,
  per_unknown: boundRule.per_unknown,
};

/** The parts of a chat body that become prompt tokens. */
export interface Prompt {
  messages: readonly unknown[];
  tools?: unknown;
  functions?: unknown;
  response_format?: unknown;
  /** Uploads and outputs in place of their bytes, by the value that names them. */
  files?: StoredSizes;
}

export type StoredSizes = Readonly<Record<string, { size: number }>>;

interface Counter {
  rule: TokenRule;
  files: StoredSizes;
  text(text: string, enough: number): number;
}

/**
 * The tokens to reserve for a prompt: at least what it will cost, at most `context_tokens`, the
 * model's window, because no upstream takes more. Never throws on JSON values, whatever their
 * shape. Linear, and done once the window is full.
 */
export function estimatePromptTokens(
  prompt: Prompt,
  context_tokens: number,
  rule: TokenRule = boundRule,
): number {
  return promptTokens(prompt, context_tokens, { rule, text: boundTokens });
}

/**
 * The tokens to reserve for a prompt of this model, images as its row states: at most `enough`,
 * the model's window.
 */
export function boundPromptTokens(
  prompt: Prompt,
  { context_tokens, image_tokens }: { context_tokens: number; image_tokens: number },
  enough: number = context_tokens,
): number {
  return estimatePromptTokens(prompt, enough, { ...boundRule, per_image: image_tokens });
}

/**
 * The tokens to charge for a prompt whose upstream reported no usage. Never more than
 * `estimatePromptTokens`.
 */
export function countPromptTokens(
  prompt: Prompt,
  context_tokens: number,
  rule: TokenRule = countRule,
): number {
  return promptTokens(prompt, context_tokens, { rule, text: countTokens });
}

/**
 * The tokens to charge for a delivered text whose upstream reported no usage: a quarter of its
 * UTF-8 bytes, rounded up, about what English and Russian need. Never more than `boundTokens`,
 * whose cheapest byte costs a third.
 */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** At least the tokens of a text; counting stops once there are `enough`. */
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

function promptTokens(prompt: Prompt, context_tokens: number, by: Omit<Counter, 'files'>): number {
  const counter = { ...by, files: prompt.files ?? {} };
  let total = counter.rule.fixed + toolTokens(prompt, counter, context_tokens);
  for (const message of prompt.messages) {
    if (total >= context_tokens) return context_tokens;
    total += counter.rule.per_message + messageTokens(message, counter, context_tokens - total);
  }
  return Math.min(total, context_tokens);
}

function toolTokens(prompt: Prompt, counter: Counter, enough: number): number {
  const { rule } = counter;
  let total = jsonTokens(prompt.response_format, counter, enough);
  for (const list of [prompt.tools, prompt.functions]) {
    if (!Array.isArray(list) || list.length === 0) continue;
    total += rule.tools_fixed + list.length * rule.per_tool + jsonTokens(list, counter, enough);
  }
  return total;
}

/** Every field but the role: a model may see any of them (name, tool_calls, reasoning_content). */
function messageTokens(message: unknown, counter: Counter, enough: number): number {
  if (!isObject(message)) return jsonTokens(message, counter, enough);
  let total = 0;
  for (const [field, value] of Object.entries(message)) {
    if (total >= enough) break;
    if (field === 'role') continue;
    if (field !== 'content') total += jsonTokens(value, counter, enough - total);
    else if (typeof value === 'string') total += counter.text(value, enough);
    else if (Array.isArray(value)) total += partsTokens(value, counter, enough);
    else total += jsonTokens(value, counter, enough);
  }
  return total;
}

function partsTokens(parts: unknown[], counter: Counter, enough: number): number {
  let total = 0;
  for (const part of parts) {
    if (total >= enough) break;
    total += partTokens(part, counter, enough - total);
  }
  return total;
}

function partTokens(part: unknown, counter: Counter, enough: number): number {
  const { rule } = counter;
  if (!isObject(part)) return jsonTokens(part, counter, enough);
  switch (part.type) {
    case 'text':
      return jsonTokens(part.text, counter, enough);
    case 'refusal':
      return jsonTokens(part.refusal, counter, enough);
    case 'image_url':
      return rule.per_image;
    case 'input_audio': {
      const chars = isObject(part.input_audio) ? audioChars(part.input_audio.data, counter) : null;
      return chars === null ? rule.per_unknown : Math.ceil(chars / rule.audio_chars_per_token);
    }
    default:
      return rule.per_unknown;
  }
}

/** Characters of base64 that the model is given; null if nobody knows how many. */
function audioChars(data: unknown, { files }: Counter): number | null {
  if (typeof data !== 'string') return null;
  if (Object.hasOwn(files, data)) return 4 * Math.ceil(files[data]!.size / 3);
  return /^data:/i.test(data) || isBase64(data) ? data.length : null;
}

function jsonTokens(value: unknown, counter: Counter, enough: number): number {
  if (value === undefined || value === null) return 0;
  return counter.text(typeof value === 'string' ? value : JSON.stringify(value), enough);
}

// Kinds of UTF-16 units.
const [other, vowel, consonant, rare, upper, space, russian, twoBytes, threeBytes, half] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];
// Kinds of what precedes a unit.
const [afterOther, afterVowel, afterConsonant, afterRussian, afterSpace, afterSpaces] = [
  0, 1, 2, 3, 4, 5,
];

/** The meaning of each kind for the unit after it; the loop handles a second space in a row. */
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
 * Thirds of a token, by kind and by the unit before: other, vowel, consonant, Russian, one
 * space, several spaces. A Latin word's first letter is paid by the single space before it, as
 * every vocabulary joins the two. Vocabularies are made from words: letters join less where no word
 * has them side by side, so vowels behind vowels, consonants behind consonants, the rarest letters
 * and the ones behind those cost a whole token. So does a second space: it may stand alone before a
 * digit.
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
 * Thirds of a token of the characters that grow when a tokeniser rewrites text first (NFKC): one
 * token for each byte that they become.
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
