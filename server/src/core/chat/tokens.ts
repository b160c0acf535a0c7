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
  /**
   * Added once by chat templates: a start token and a system text of their own (gpt-oss: about 80).
   */
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
  /**
   * Base64 characters per token of audio: 41 for MP3 of 8 kbit/s at Gemini's 32 tokens a second.
   */
  audio_chars_per_token: number;
  /**
   * For a part whose tokens cannot be known beforehand, such as a PDF, or audio given by its
   * address.
   */
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

/**
 * The smallest known values: a count without the upstream's usage must not overcharge the caller.
 */
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

/**
 * The column of `costs` after a unit of each kind. A second space in a row is handled in the loop.
 */
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
