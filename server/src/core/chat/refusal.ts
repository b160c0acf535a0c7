import { isCount, isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { isFilled } from '../check.ts';
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
  const codes = codesIn(error ?? {}, words);
  const param = [error?.param, setting.exec(words)?.[1]].find(isFilled) ?? '';
  const field = /^[\w.[\]-]{1,100}$/.test(param) ? param : null;
  const own = { param: field, window: unknownWindow };
  if (isTooLong(codes, words) && !ofNames.test(param))
    return { ...own, reason: 'messages_too_long', window: windowIn(error ?? {}, words) };
  const known = kinds.find(([, code, word]) => code.test(codes) || word.test(words));
  return { ...own, reason: known?.[0] ?? (field === null ? 'model_refused' : 'bad_parameter') };
}

/** Fields with names, which may be too long, too. */
const ofNames =
  /\b(tools?|tool_calls|functions|call_id|name|user|metadata|\w+_key|\w+_identifier)\b/;

/** The name of a setting with which the words begin. */
const setting = /^[`'"]?(temperature|top_[pk]|max_\w*tokens|stop\w*|tool_choice|thinking\w*)\b/;

/**
 * Whether an error that came without a status, as in a stream, or with one of the server's own, is
 * the fault of the call.
 */
export function blamesCall(error: Json, words: string): boolean {
  const codes = codesIn(error, words);
  return (
    isTooLong(codes, words) || cannotReadMedia(words) || kinds.some(([, code]) => code.test(codes))
  );
}

/** A refusal's words for the caller, whom those about the operator's account do not concern. */
export function wordsForCaller(words: string): string {
  return ofAccount.test(words) ? 'it gives no reason that is about the call' : words.slice(0, 500);
}

const ofAccount =
  /\b(?:your|this|the|our) (?:api[ -]?key|account|organi[sz]ation|project|team|billing|subscription|quota|balance)\b/i;

/** Whether the model that refuses cannot read such a part, so that another one may. */
export function cannotReadMedia(words: string): boolean {
  return senses.test(words);
}

const senses =
  /\b(?:image|picture|vision|audio|video|pdf|multi-?modal)s?(?: inputs?| content)? (?:is|are) not (?:supported|available|enabled)|(?:not|n't) (?:support|accept|take|process|understand) (?:\w+ ){0,2}(?:images?|pictures?|vision|audio|videos?|pdfs?|multi-?modal)\b|missing data required for image|at most 0 (?:image|audio|video)|not (?:a )?multi-?modal|\bmmproj\b/i;

/** The codes of an error. Some servers have them as names before the words. */
export function codesIn(error: Json, words: string): string {
  const { code, type, status, reason, __type, error_code, error_type } = error;
  // A path of the caller's field ends with a colon, too.
  const [names = ''] = /^(?:(?:litellm\.)?\w+: |An error occurred \(\w+\) )*/.exec(words) ?? [];
  const reasons = [error.details, error.errors]
    .flatMap(itemsOf)
    .map((each) => objectOf(each).reason);
  // Azure's own reason.
  const { code: inner } = objectOf(error.innererror ?? error.inner_error);
  return [code, type, status, reason, __type, error_code, error_type, inner, ...reasons, names]
    .filter((each) => typeof each === 'string')
    .join(' ');
}

function isTooLong(codes: string, words: string): boolean {
  if (tooLongCodes.test(codes)) return true;
  return !ofRate.test(words) && tooLongWords.some((form) => form.test(words));
}

/** Too many tokens for a time, not for the model. */
const ofRate = /\btokens per (min|hour|day|second)|please wait before/i;

const tooLongCodes =
  /context_length_exceeded|exceed_context_size|context_?window_?exceeded|context_too_large|max_prompt_tokens_exceeded|string_above_max_length|max_tokens_exceeded|tokens_limit_reached|prompt_too_long|input_too_long/i;

/** OpenAI, vLLM, Anthropic, llama.cpp, Gemini, Mistral, xAI, Groq, Together, Bedrock and others. */
const tooLongWords: readonly RegExp[] = [
  /maximum (context|prompt|model) length/i,
  /exceed(s|ed)? (the |this model('s)? |your )?(max(imum)? |available |model('s)? )?(context (window|length|size|limit)|input length|token limit|session_len|number of (input )?tokens)/i,
  /(prompt|input|request|messages?)( tokens?| token length| \(\d+ tokens\))? ((is|are|was|were) )?too long\b|(prompt|input|request|messages?) (is|are|was|were) too large\b|(prompt|input) too large for (the )?context/i,
  /context (window|length|size|limit) (of \d+ (tokens )?)?(is |was |has been )?(exceed|overflow)|context shift is disabled|reached context length|context_too_large/i,
  /exceed context limit|max_tokens must be at least 1, got -|max_tokens \(-\d+\) should be greater/i,
  /input token count .{0,40}(exceeds the maximum|only supports)/i,
  /prompt contains \d+ tokens?.{0,80}too large/i,
  /too many (input )?tokens|number of input tokens .{0,40}(exceed|limit)/i,
  /reduce the length of (the|your) (messages|prompt|input)/i,
  /(prompt|input)( token count of \d+| tokens| \(\d+ tokens\))? (exceeds?|(is|are) (longer|larger|greater) than|length)[^.]{0,60}(max(imum)?|limit|context)/i,
  /prompt (token count \(\d+\) cannot exceed \d|is \d+ tokens long)|expected maxLength: \d+, actual: \d/i,
  /exceed max message tokens|prompt_tokens \(\d+\) must be less than|\w ?超长|token数量超过上限/i,
  /`?inputs`? (tokens \+ `?max_new_tokens`? must be|must have less than)|\binput must have less than \d+ tokens/i,
  /range of input length should be|token length exceeds? model limit|max tokens of \d+ exceeded/i,
  /prompt (length \([\d.]+\), .{0,40}should not exceed|has \d+ tokens, but the limit)/i,
  /request exceeded model token limit/i,
  /context length is only \d|only handle up to \d+ tokens|exceeds max_model_len|configured context size is \d/i,
  /(?<!max_)tokens in request more than max|reached its maximum context|^(the |this |your )?conversation (is )?too long|^the message you submitted was too long/i,
  /(输入|请求)(内容)?(长度超过模型|过长)/,
  /context the overflows|keep from the initial prompt is greater/i,
];

const kinds: readonly [RefusalReason, code: RegExp, words: RegExp][] = [
  [
    'content_policy',
    /content_filter|content_policy|policy_?violation|moderation|responsible_?ai|safety|data_?inspection_?failed|sensitive|prohibited|illegal|censor/i,
    /content[ _-](filter|polic|management)|prohibited_content|guardrail|illegal content|涉嫌违规|不安全|usage (guideline|polic)|moderation|flagged|violat.{0,60}(guideline|polic)|inappropriate content|content exists risk|considered high risk|new_sensitive|敏感内容|safety (system|filter|check)|data_inspection_failed/i,
  ],
  [
    'bad_image',
    /invalid_image|image_(parse|too|file)|(unsupported|download|base64)_image|empty_image/i,
    /\b(image|picture)s?\b.{0,80}\b(could not|cannot|invalid|unsupported|corrupt|not a valid|too (large|small|big)|exceeds?|failed|damaged|decode|not supported|appears to be|do not meet)|(could not|cannot|failed to|unable to|unsupported|invalid|too many|support)\b.{0,60}\b(image|picture)|variant `image_url`|not (a )?multi-?modal|required for image|at most 0 image|vision is not|图片/i,
  ],
  [
    'bad_file',
    /invalid_file|file_too|unsupported_file|invalid_pdf/i,
    /\b(pdf|document|file|audio)s?\b.{0,60}\b(could not|cannot|invalid|unsupported|corrupt|not (a )?valid|too (large|small|big)|exceeds?|password|encrypted|not supported|has no pages)|maximum of \d+ pdf pages|(could not|cannot|failed to|unsupported|invalid)\b.{0,40}\b(pdf|document|file|audio)\b/i,
  ],
  [
    'bad_parameter',
    /unsupported_parameter|unknown_parameter|invalid_value|unsupported_value|invalid_type|missing_required|ValidationException/i,
    /(unsupported|unknown|unrecognized|invalid|missing)( required)? (parameter|argument|value for|field|name)|extra inputs are not permitted|is not (a )?(supported|permitted|allowed) (parameter|field|argument)|unrecognized request argument|^property '[\w.]+' is unsupported|does not support (tools|this tool_choice)|--enable-auto-tool-choice/i,
  ],
];

/** Numbers that an error states in fields of its own. */
const limitFields = ['n_ctx', 'context_length', 'max_context_length'];
const givenFields = ['n_prompt_tokens', 'prompt_tokens', 'requested_tokens'];

function windowIn(error: Json, words: string): Window {
  const details = [error, ...itemsOf(error.details).filter(isObject), objectOf(error.details)];
  const field = (names: readonly string[]) =>
    details.flatMap((each) => names.map((name) => each[name])).find(isCount) ?? null;
  const told = { limit: field(limitFields), given: field(givenFields), output: null };
  if (told.limit !== null && told.given !== null) return told;
  const [, given, limit] = /(\d+) tokens > (\d+) maximum/.exec(words) ?? [];
  if (limit !== undefined) return { limit: Number(limit), given: Number(given), output: null };
  // The numbers of a text that is too long in characters are not of tokens.
  if (/string|character|byte|maxLength/i.test(words)) return told;
  const text = words
    .slice(0, 2_000)
    .replaceAll(ofCall, '')
    .replaceAll(/(\d)[,_](?=\d{3}\b)/g, '$1');
  const codes = new Set([error.code, error.status].map(String));
  const [, more, most] =
    /exceeded by (\d+) tokens\b.*limit for this model is (\d+)/s.exec(text) ?? [];
  if (most !== undefined)
    return { limit: Number(most), given: Number(most) + Number(more), output: null };
  const said = text.replaceAll(/ by \d+ tokens\b/g, '');
  const numbers = [...said.matchAll(anyNumber)].map(([each]) => each);
  return windowOf(numbers.filter((each) => !codes.has(each)).map(Number), said) ?? told;
}

/** The number of a call, and MiniMax's code behind its words. */
const ofCall = /\(request id: [^)]*\)|(?<=^invalid params, .*)\(\d{4}\)$/gis;
/** Not of a status, an id or a version. */
const anyNumber = /(?<![\w.<-]|(?:code|error|status):? )\d{3,9}(?![\w-]*[a-z_])/gi;
const limitForm =
  /^.*(?:maximum|\bmax\b|max_seq_len|limit|context (?:length|window|size)|\bonly|up to|at most|less than|exceeds?|model with|should be \[\d+|<=|>)\D{0,40}?(\d{3,9})/is;
/** All tokens of a call. */
const totalForm = /(?:total of (?:at least )?|requested:? (?:about )?)(\d{3,9})\b(?! output)/i;
const outputForm =
  /(\d{3,9})(?: tokens)? (?:(?:in|for) the (?:completion|output)|output tokens|`max_new_tokens`)|max_tokens=(\d{3,9}) is too|too large: (\d{3,9})|\+ (\d{3,9}) >/i;

/** The meaning of the numbers in a text; null if they do not say that a prompt is too long. */
function windowOf(numbers: readonly number[], text: string): Window | null {
  const find = (form: RegExp) => Number(form.exec(text)?.slice(1).find(Boolean)) || null;
  const said = [find(limitForm)].find((each) => numbers.includes(each ?? 0)) ?? null;
  const total = find(totalForm);
  const output = find(outputForm);
  const others = numbers.filter((each) => each !== output);
  const isBoth = output !== null && said !== null;
  // Without an output, the prompt alone is longer than the limit.
  const isLimit = isBoth || (said !== null && others.some((each) => each > said));
  const limit = isLimit ? said : Math.min(...others);
  const rest = others.filter((each) => each !== limit);
  if (rest.length === 0) return said === null ? null : { limit: said, given: null, output: null };
  const given = total === null ? Math.max(...rest) : total - (output ?? 0);
  if (given > limit) return { limit, given, output: null };
  return isBoth && given + output > limit ? { limit, given, output } : null;
}

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
