import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { ApiError } from '../errors.ts';

/** Why an upstream refused a chat: from the code, the type or the words of its error. */

export type RefusalReason =
  | 'messages_too_long'
  | 'content_policy'
  | 'bad_image'
  | 'bad_file'
  | 'bad_parameter'
  | 'model_refused';

export interface ChatRefusal {
  reason: RefusalReason;
  /** The upstream's name of the field at fault; null: it names none. */
  param: string | null;
  window: Window;
}

/** How a prompt is too long, in tokens; null: the upstream does not say. */
export interface Window {
  limit: number | null;
  given: number | null;
  /** The tokens of the reply, if only both together are too many. */
  output: number | null;
}

const unknownWindow: Window = { limit: null, given: null, output: null };

/** `error`: in the upstream's form; null if it sent none. `words`: its readable part. */
export function refusalIn(error: Json | null, words: string): ChatRefusal {
  const { param } = error ?? {};
  const codes = codesIn(error ?? {}, words);
  const field = typeof param === 'string' && /^[\w.[\]-]{1,100}$/.test(param) ? param : null;
  const own = { param: field, window: unknownWindow };
  if (isTooLong(codes, words))
    return { ...own, reason: 'messages_too_long', window: windowIn(error ?? {}, words) };
  const known = kinds.find(([, code, word]) => code.test(codes) || word.test(words));
  if (known) return { ...own, reason: known[0] };
  return { ...own, reason: field === null ? 'model_refused' : 'bad_parameter' };
}

/** Whether an error that came without a status, as in a stream, is the fault of the call. */
export function blamesCall(error: Json, words: string): boolean {
  const codes = codesIn(error, words);
  return isTooLong(codes, words) || kinds.some(([, code]) => code.test(codes));
}

/** The codes of an error. Some servers have them as names before the words. */
export function codesIn({ code, type, status, __type, details }: Json, words: string): string {
  const [names = ''] = /^(?:[\w.]+: )*/.exec(words) ?? [];
  const reasons = itemsOf(details).map((each) => objectOf(each).reason);
  return [code, type, status, __type, ...reasons, names]
    .filter((each) => typeof each === 'string')
    .join(' ');
}

function isTooLong(codes: string, words: string): boolean {
  return tooLongCodes.test(codes) || tooLongWords.some((form) => form.test(words));
}

const tooLongCodes =
  /context_length_exceeded|exceed_context_size|context_?window_?exceeded|context_too_large|max_prompt_tokens_exceeded|string_above_max_length|max_tokens_exceeded|prompt_too_long|input_too_long/i;

/** OpenAI, vLLM, Anthropic, llama.cpp, Gemini, Mistral, xAI, Groq, Together, Bedrock and others. */
const tooLongWords: readonly RegExp[] = [
  /maximum (context|prompt|model) length/i,
  /exceeds? (the |this model's |your )?(maximum |available |model('s)? )?(context (window|length|size|limit)|input length|token limit|number of (input )?tokens)/i,
  /(prompt|input|request|messages?) ((is|are|was|were) )?too long\b|(prompt|input|request|messages?) (is|are|was|were) too large\b/i,
  /context (window|length|size|limit) (is |was )?(exceed|overflow)|reached context length|context_too_large/i,
  /exceed context limit/i,
  /input token count .{0,40}exceeds the maximum/i,
  /prompt contains \d+ tokens?.{0,80}too large/i,
  /too many (input )?tokens/i,
  /reduce the length of (the|your) (messages|prompt|input)/i,
  /(prompt|input)( token count of \d+| tokens| \(\d+ tokens\))? (exceeds?|is longer than|length)[^.]{0,60}(max(imum)?|limit|context)/i,
  /exceed max message tokens|prompt_tokens \(\d+\) must be less than|\w ?超长|token数量超过上限/i,
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i,
  /range of input length should be/i,
  /request exceeded model token limit/i,
  /context the overflows|keep from the initial prompt is greater/i,
];

const kinds: readonly [RefusalReason, code: RegExp, words: RegExp][] = [
  [
    'content_policy',
    /content_filter|content_policy|policy_violation|moderation|responsible_?ai|safety|data_?inspection_?failed|sensitive|prohibited/i,
    /content[ _-](filter|polic|management)|usage (guideline|polic)|moderation|flagged|violat.{0,60}(guideline|polic)|inappropriate content|content exists risk|considered high risk|new_sensitive|敏感内容|safety (system|filter|check)|data_inspection_failed/i,
  ],
  [
    'bad_image',
    /invalid_image|image_(parse|too|file)|(unsupported|download|base64)_image|empty_image/i,
    /\b(image|picture)s?\b.{0,80}\b(could not|cannot|invalid|unsupported|corrupt|not a valid|too (large|small|big)|exceeds?|failed|damaged|decode|not supported)|(could not|cannot|failed to|unable to|unsupported|invalid)\b.{0,60}\b(image|picture)/i,
  ],
  [
    'bad_file',
    /invalid_file|file_too|unsupported_file|invalid_pdf/i,
    /\b(pdf|document|file|audio)s?\b.{0,60}\b(could not|cannot|invalid|unsupported|corrupt|not a valid|too (large|small|big)|exceeds?|password|encrypted|not supported)|(could not|cannot|failed to|unsupported|invalid)\b.{0,40}\b(pdf|document|file|audio)\b/i,
  ],
  [
    'bad_parameter',
    /unsupported_parameter|unknown_parameter|invalid_value|unsupported_value|invalid_type|missing_required/i,
    /(unsupported|unknown|unrecognized|invalid|missing)( required)? (parameter|argument|value for|field)|extra inputs are not permitted|is not (a )?(supported|permitted|allowed) (parameter|field|argument)|unrecognized request argument/i,
  ],
];

/** Numbers that an error states in fields of its own. */
const limitFields = ['n_ctx', 'context_length', 'max_context_length'];
const givenFields = ['n_prompt_tokens', 'prompt_tokens', 'requested_tokens'];

function windowIn(error: Json, words: string): Window {
  const details = [error, ...itemsOf(error.details).filter(isObject), objectOf(error.details)];
  const field = (names: readonly string[]) =>
    details.flatMap((each) => names.map((name) => each[name])).find(isTokens) ?? null;
  const told = { limit: field(limitFields), given: field(givenFields), output: null };
  if (told.limit !== null && told.given !== null) return told;
  const text = words.slice(0, 2_000).replaceAll(/(\d)[,_](?=\d{3}\b)/g, '$1');
  for (const [form, names] of windowForms) {
    const match = form.exec(text);
    if (match === null) continue;
    const found = Object.fromEntries(names.map((name, i) => [name, Number(match[i + 1])]));
    return { ...unknownWindow, ...found };
  }
  return told;
}

function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

const windowForms: readonly [RegExp, (keyof Window)[]][] = [
  [
    /maximum context length is (\d+) tokens.*?requested (?:about )?\d+ tokens \((\d+)[^,)]*?(?:in the messages|of text input|in the prompt)[^,)]*, (\d+)/i,
    ['limit', 'given', 'output'],
  ],
  [/(\d+) \+ (\d+) > (\d+)/, ['given', 'output', 'limit']],
  [/(\d+) tokens? > (\d+)/, ['given', 'limit']],
  [/maximum (?:context|prompt|model) length (?:is|of) (\d+)\D+?(\d+)/i, ['limit', 'given']],
  [/input token count \(?(\d+)\)? exceeds .*?\(?(\d+)\)?/i, ['given', 'limit']],
  [/\(length (\d+)\) is longer than the maximum model length of (\d+)/i, ['given', 'limit']],
  [/prompt contains (\d+) tokens.*?model with (\d+)/i, ['given', 'limit']],
  [/(\d+) tokens?\D{1,60}context (?:size|window|length)\D{1,30}(\d+)/i, ['given', 'limit']],
  [/must be <= (\d+)\. Given: (\d+)/i, ['limit', 'given']],
  [/range of input length should be \[\d+, (\d+)\]/i, ['limit']],
  [/token limit:? (\d+)/i, ['limit']],
];

const beyond =
  'Your input exceeds the context window of this model. Please reduce the length of the messages.';

/** The error for a prompt that is too long, in the words that clients of OpenAI look for. */
export function tooLong({ limit, given, output }: Window, param: 'messages' | 'input'): ApiError {
  const known = limit !== null && given !== null;
  const figures = known
    ? `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${given} tokens. `
    : '';
  return new ApiError('context_length_exceeded', {
    message: `${figures}${beyond}`,
    param,
    reason: 'messages_too_long',
    details: {
      ...(limit !== null && { limit_tokens: limit, limit }),
      ...(given !== null && { given_tokens: given }),
      ...(output !== null && { output_tokens: output }),
    },
  });
}

/** The same error in the words that clients of Anthropic look for. */
export function tooLongWordsOfMessages(details: Json): string {
  const { limit_tokens: limit, given_tokens: given, output_tokens: output } = details;
  if (limit === undefined || given === undefined) return 'prompt is too long';
  if (output !== undefined)
    return `input length and \`max_tokens\` exceed context limit: ${String(given)} + ${String(output)} > ${String(limit)}`;
  return `prompt is too long: ${String(given)} tokens > ${String(limit)} maximum`;
}
