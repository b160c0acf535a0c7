import { costInUsage } from '../../core/price/cost.ts';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { FetchError, type Reply, type RequestCall } from '../../lib/outbound/fetch.ts';
import { errorIn as errorInPiece } from '../../core/apis/read-reply.ts';
import { blamesCall, codesIn, cannotReadMedia, refusalIn } from '../../core/chat/refusal.ts';
import { isFilled } from '../../core/check.ts';
import { isObject, objectOf, type Json } from '../../lib/json.ts';
import {
  accountToBlame,
  blamesInput,
  jsonOf,
  messageIn,
  outcomeOfFault,
  outcomeOfReply,
  publicWords,
} from '../replies.ts';
import type { LostAnswer, NotAccepted, Rejection, UpstreamTools } from '../upstream.ts';

type ReplyParts = Pick<Reply, 'status' | 'headers' | 'body'>;

/** The outcome of a start or chat call that was refused or whose answer was lost. */
export type CallFailure = Rejection | NotAccepted | LostAnswer;

/** Makes calls to the server, and explains its errors. */
export type OpenaiWire = ReturnType<typeof createWire>;

const errorBytes = 64 * 1024;

/** `headersOf`: the headers of every call, with our key. */
export function createWire(
  settings: UpstreamSettings,
  tools: UpstreamTools,
  basePath: string,
  headersOf: (key: string | null) => Record<string, string> = bearer,
) {
  const { key, url: given } = settings;
  const url = given.endsWith(basePath) ? given : given + basePath;
  const headers = headersOf(key);
  const isOpenai = /(^|\.)openai\.com$/.test(new URL(url).hostname);
  const idHeader = isOpenai ? 'x-client-request-id' : 'x-request-id';

  /** Removes our key and all addresses from a text of the server. */
  function clean(text: string): string {
    const shown = key === null ? text : text.replaceAll(key, '***');
    return shown.replaceAll(/\bhttps?:\/\/\S+/gi, '…').trim();
  }

  function cleaned<T extends { message: string }>(outcome: T): T {
    return { ...outcome, message: clean(outcome.message) };
  }

  /** The outcome of an unsuccessful reply. `model`: the server's name of the called model. */
  function refusal(reply: ReplyParts, model: string): CallFailure {
    const told = errorInBody(jsonOf(reply.body));
    const named = amazonsError(reply);
    const error = named === null ? told : { ...named, ...told };
    const said = error === null ? reply : meant(reply, error);
    const special = error === null ? null : specialRefusal(said.status, error, model);
    const outcome = cleaned(special ?? outcomeOfReply(said, tools.now()));
    if (outcome.outcome !== 'rejected') return outcome;
    const message = publicWords(outcome.message);
    const refusal = refusalIn(error, message);
    return { ...outcome, message, refusal, lacking: cannotReadMedia(message) };
  }

  /** The outcome of an error that came with status 200. */
  function inBand(error: unknown, replyHeaders: Record<string, string>, model: string) {
    const body = Buffer.from(JSON.stringify({ error }));
    return refusal({ status: statusOf(error), headers: replyHeaders, body }, model);
  }

  return {
    url,
    headers,
    /** The header that lets the logs of the server name our request. */
    idOf: (request_id: string) => ({ [idHeader]: request_id }),
    clean,
    refusal,
    /** The outcome of a call without a reply. Rethrows errors that are not of the network. */
    fault: (error: unknown): CallFailure => cleaned(outcomeOfFault(error)),
    inBand,
    /**
     * The outcome of a success that has neither a job nor an output. Words alone may be those of a
     * job that was made, unless they refuse the input.
     */
    withoutJob(value: unknown, replyHeaders: Record<string, string>, model: string): CallFailure {
      const error = errorInBody(value);
      const told = error && inBand(error, replyHeaders, model);
      const { error: stated, object } = objectOf([value].flat()[0]);
      const isStated = Boolean(stated) || object === 'error';
      if (told !== null && (isStated || told.outcome === 'rejected')) return told;
      const message = 'its answer has neither a job nor an output';
      return { outcome: 'unknown', message, answer: 'unreadable' };
    },
    /** `path` is appended to the server's address. */
    request: (path: string, call: Omit<RequestCall, 'url'>): Promise<Reply> =>
      tools.fetch.request({ ...call, url: url + path, headers: { ...headers, ...call.headers } }),
    /** Whether our key may be sent to this address. */
    isOwn: (address: string): boolean =>
      URL.canParse(address) && new URL(address).origin === new URL(url).origin,
  };
}

export function bearer(key: string | null): Record<string, string> {
  return key === null ? {} : { authorization: `Bearer ${key}` };
}

/** Bedrock's error in its headers, or null. */
function amazonsError({ headers }: ReplyParts): Json | null {
  const { 'x-amzn-errortype': __type, 'x-amzn-errormessage': message } = headers;
  return __type === undefined ? null : { __type, message };
}

/** The error in a body of any of the usual shapes, or null. */
export function errorInBody(given: unknown): Json | null {
  // Google's answers are lists.
  const [value] = [given].flat();
  return isObject(value) ? errorInPiece(value) : null;
}

function specialRefusal(status: number, error: Json, model: string): CallFailure | null {
  const message = messageIn(error) ?? `answered ${status}`;
  const { metadata, param } = error;
  const isOfCall = cannotReadMedia(message) || (isFilled(param) && param !== 'model');
  // OpenRouter answers 403 both for a bad key and for an input that a moderator has flagged.
  if (status === 403 && isObject(metadata) && Array.isArray(metadata.reasons))
    return { outcome: 'rejected', message };
  if (status === 403 && /key limit exceeded/i.test(message))
    return { outcome: 'not_accepted', why: 'account', message };
  if (
    status === 410 ||
    ([400, 401, 403, 404].includes(status) && error.param === 'model') ||
    lacksModel.test(codesIn(error, '')) ||
    (status < 500 && !isOfCall && lacks(model, status, message))
  )
    return { outcome: 'not_accepted', why: 'model', message };
  // A 404 here is about the input, for example if no endpoint supports a field of the call.
  return status === 404 ? { outcome: 'rejected', message } : null;
}

const lacksModel =
  /\b(model_(not_(found|available|supported)|decommissioned|terms_required|permission_blocked\w*|price_error)|(invalid|unknown|unsupported)_model|unsupported_api_for_model|ModelNotOpen|UnsupportedModel|OperationNotSupported|(DeploymentNot|ResourceNot)Found\w*|RESOURCE_DOES_NOT_EXIST|ENDPOINT_NOT_FOUND|InvalidEndpointOrModel|team_model_access_denied|Model\.AccessDenied|AccessDenied\.Unpurchased)\b/;

/** The first words of an error that the called model, or the address, is not there for us. */
const lacksWords = new RegExp(
  [
    '^(model (is )?(not (exist|available|found|loaded)|does not exist|disabled|unloaded)\\b(?! (for requests|with|when|if)\\b)|模型不存在|该令牌无权访问模型|this token has no access to model\\b|failed to load model',
    '((invalid params, )?unknown model(?=[:,.]| ?["\'`]|$)|no access to model\\b)|modelcode: does not exist|no route for that uri',
    'endpoint with name .{1,200} does not exist|user does not have permission .{1,40} on endpoint',
    'this model (version has reached the end of its life|requires a subscription)\\b',
    'no (models? loaded|such model|allowed providers are available|endpoints found matching your data policy)',
    '(you passed in|invalid model name passed in) model=|llm provider not provided',
    'invocation of model .{1,200} on-demand|the chatcompletion operation does not work',
    "the provided model identifier is invalid|could not resolve the foundation model|you don't have access to the model",
    "function (id )?'[\\w-]+': (not found for account|degraded function)|(inference error )?degraded function",
    // A file of the server's own.
    '(\\[errno 2\\] )?no such file or directory',
    "(cannot|can't|could not|failed to|unable to) (open|load|read|find) (?!.*://).{0,200}(/models?/|\\.(gguf|ggml|safetensors|onnx)\\b)",
    'model use case details have not been|access denied\\. this model is marked|could not find real modelid',
    '"[^"]{1,200}" does not support chat$|(resource |page )?not found\\.?$|unsupported api version|api version not supported)',
  ].join('|'),
  'i',
);
/** Behind the model's name. More words may be about a field of the call. */
const notSupported =
  /^["'`]?( model)? is not (a valid model id\b|supported(\W*$| (by any provider|when using codex)\b))/i;
const notThere =
  /^["'`]?( model)? (is )?not ((found|loaded)\b(?! (for|in the|if|when|with)\b)|(available in|enabled for) (your|this) (account|api key|country|key|location|organi[sz]ation|plan|project|region|subscription|team|tier)\b)/i;
/** Gateways write the path that was called, or names of errors, before such words. */
const prefix = /^(\/[\w/]+: |[\w.]+: |An error occurred \(\w+\) when calling the [^:]{1,80}: )+/;

/** The status of an error that blames something else than the call, by its codes or first words. */
const blames: readonly [status: number, codes: RegExp, words: RegExp][] = [
  [
    402,
    /insufficient_?(\w+_)?(quota|balance|credits?|funds)|arrearage|billing|payment_required|overdue|exceeded_current_quota|budget_?exceeded|freetieronly|credit_limit|not_enough_(balance|quota)|(pack|charge_?resource)_?exhausted|service_?not_?activated|blocked_api_access/i,
    /^(insufficient (\w+ )?(balance|credits?|funds|quota)|your credit balance|you have exceeded your (\w+ ){0,3}credits|(sorry, )?your account balance|you have reached your specified api usage|this request would exceed your [\w' ]{1,40}usage limit|billing account for |your newly created team doesn't have any credits|gemini api free tier|access denied, please make sure your account|account \S+ is suspended|you exceeded your current quota(?!(?![^]*\blimit: 0\b)[^]*\bretry in \d)|your team \S+ has (either )?used all available credits|((user|token) quota|pre-consumed quota) (is not enough|failed)|you're out of extra usage|third-party apps now draw|the long context beta is not|余额不足|您的账户已欠费|用户额度不足|该令牌额度已用尽|预扣费额度失败)/i,
  ],
  [
    401,
    /invalid_?api_?key|api_key_(invalid|expired|service_blocked)|authentication|unauthorized|auth_?failure|permission_?(error|denied)|organi[sz]ation_(restricted|deactivated)|expired_?token|invalid_(\w+_)?token\b|unrecognized_?client|access_?denied/i,
    /^((to [\w ]{1,40}, )?(this|your) organi[sz]ation (has been|must be)|user location is not supported|this credential is only authorized|api key (not valid|expired|not found)|(invalid|incorrect|wrong|expired) (oauth )?(api[ -]?key|access token)|no auth credentials|missing or invalid authorization|(your )?account is (inactive|disabled|suspended)|authentication (error|fail)|login fail|access token (is )?(invalid|expired)|the security token included|token expired|令牌已过期|无效的令牌)/i,
  ],
  [
    429,
    /rate_?limit|throttl|too_?many_?requests|request_?limit|usage_?limit|resource_?exhausted|quota_?exceeded|daily_?limit/i,
    /^(\w+ )?rate limit|^(\w+ )?quota (has been )?exceeded|^out of call volume quota|^([\w']+ ){1,3}(exceeded|reached|hit) (your|the|a) (\w+ ){0,3}(quota|rate limit|usage limit)\b|^too many (requests|tokens( per|, please wait))|^(open api \w+ request|tokens per \w+) limit|^this request exceeds the limit of \d+ tokens per/i,
  ],
  [
    503,
    /overloaded|\bslow_?down\b|unavailable|capacity_exceeded|not_?ready|engine_?dead/i,
    /^over capacity|^upstream service unavailable|访问量过大|负载已饱和|^the model has crashed|^request id \S+ (is )?already running/i,
  ],
];

/** Statuses that servers also give for other reasons than the call's. */
const unclear = new Set([400, 404, 412, 424, 498, 500, 502, 504]);
/** Names a key and a limit that was reached, and blames neither the key itself nor the call. */
const ofKeyLimit =
  /^(?!.*(?:invalid|incorrect|expired|revoked|disabled|permission|allow|polic|flagged|prompt|context|max_tokens|key limit))(?=.*(?:\b(?:api[ -]?key|(?:this|your) (?:key|token)|the key)\b|令牌)).*(?:(?:exceed|reach|exhaust|used up|(?:ran|run|is) out of|\bhit\b|no remaining).{0,60}(?:quota|limit|budget|credit|balance)|(?:quota|limit|budget|credit|balance|额度|余额).{0,60}(?:exceed|reach|exhaust|used up|not enough|不足|用尽))/is;
const ofMoney = /spend|budget|credit|balance|额度|余额/i;
/** Statuses that an error by 403 may mean although the key is right. */
const ofQuotas = [402, 429];
/** Statuses of the operator's key and limits, which gateways may state in an error by 400. */
const ofOperator = new Set([401, 402, 429]);

/** The reply that a server would give if it had only this error, and the status that fits. */
function meant(reply: ReplyParts, error: Json): ReplyParts {
  const status = meantStatus(reply.status, error);
  return { ...reply, status, body: Buffer.from(JSON.stringify(error)) };
}

function meantStatus(status: number, error: Json): number {
  const message = messageIn(error) ?? '';
  const codes = codesIn(error, message);
  const named = status === 403 ? ofQuotas : status === 413 ? [] : [402];
  const possible = unclear.has(status) ? blames : blames.filter(([each]) => named.includes(each));
  const known = possible.find(([, code, words]) => code.test(codes) || words.test(message));
  if (known) return known[0];
  if (status === 403 && ofKeyLimit.test(message.slice(0, 300)))
    return ofMoney.test(message) ? 402 : 429;
  const stated = Number(error.code);
  if (status === 400 && ofOperator.has(stated)) return stated;
  const isCallers = blamesCall(error, message) && !accountToBlame.test(message);
  return status >= 424 && unclear.has(status) && isCallers ? 400 : status;
}

/**
 * Whether an error text says that the server does not have the model. An error may repeat what the
 * caller wrote, so it counts only if it names the model that was called.
 */
function lacks(model: string, status: number, message: string): boolean {
  const [before = '', ...behind] = message.split(model);
  if ([message, message.replace(prefix, '')].some((each) => lacksWords.test(each))) return true;
  if (behind.length === 0 || /(?:[\w.:-]|(?<!\bmodels)\/)$/.test(before)) return false;
  const after = behind.join(model);
  const isFirst = /^(the |model )*["'`]?$/i.test(before);
  if (notSupported.test(after)) return isFirst;
  if (isFirst && notThere.test(after)) return true;
  return status === 404 && /^(?:$|[^\w./:-]|[.:](?:\s|$))/.test(after);
}

const statuses: Readonly<Record<string, number>> = {
  not_found_error: 404,
  invalid_request_error: 400,
  request_too_large: 413,
};

/** The numbers by which MiniMax and Z.ai say who is to blame, where both do not use them. */
const numbers: readonly [status: number, codes: readonly number[]][] = [
  [400, [1026, 1027, 1042, 2013, 1210, 1213, 1214, 1261, 1301]],
  [401, [1004, 2049]],
  [402, [1008, 1113, 1308, 1309, 1310, 2056]],
  [410, [1211, 2061]],
  [429, [1039, 1041, 1302, 1303, 1304, 2045]],
  [503, [1305]],
];

/** Both are texts here: Z.ai's always, and MiniMax's from a place of its own. */
function numbered(code: unknown): number | undefined {
  if (typeof code !== 'string') return undefined;
  return numbers.find(([, codes]) => codes.includes(Number(code)))?.[0];
}

const isFailure = (status: number) => Number.isInteger(status) && status >= 400 && status < 600;

/** The status that an error states or means; otherwise 500, which proves nothing. */
function statusOf(error: unknown): number {
  if (!isObject(error)) return 500;
  const { code: own, status, http_code, status_code, statusCode } = error;
  const code = [own, http_code, status_code, statusCode].map(Number).find(isFailure);
  if (code !== undefined) return code;
  const stated =
    statuses[String(error.code)] ?? statuses[String(error.type)] ?? numbered(error.code);
  if (stated !== undefined) return stated;
  // Some repeat here the status of their own reply.
  if (isFailure(Number(status))) return Number(status);
  return blamesInput(error, messageIn(error) ?? '') ? 400 : 500;
}

/** The beginning of an error's body, as far as it arrived. */
export async function headOf(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= errorBytes) break;
    }
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
  }
  return Buffer.concat(chunks).subarray(0, errorBytes);
}

/** Micro-USD of a `usage.cost` in dollars; undefined if none is stated. */
export function costIn(reply: Json): bigint | undefined {
  return costInUsage(objectOf(reply.usage)) ?? undefined;
}
