/**
 * The cost of a chat call, computed from docs/pricing.md and docs/api/chat.md without the service's own
 * arithmetic, so that the two can disagree. Only the bound of a text is the service's; other tests
 * compare it with real tokenisers.
 */
import { boundTokens } from '../../src/core/chat/tokens.ts';

type Json = Record<string, any>;

/** Micro-USD for a million tokens, to the caller and to the operator. */
export const rows = {
  stop: { input: 370_000n, output: 1_910_000n, costInput: 210_000n, costOutput: 1_070_000n },
  finish: { input: 50_000n, output: 130_000n, costInput: 31_000n, costOutput: 77_000n },
  /** A row with `finish` that may think unseen. */
  thinks: { input: 70_000n, output: 230_000n, costInput: 41_000n, costOutput: 97_000n },
} as const;
export type Row = keyof typeof rows;

/** A message: one word of lower-case Latin letters, and images. */
export interface Message {
  word: string;
  pictures: number;
}

/** An upstream's stream. A string is sent unchanged, not as a chunk. */
export interface SentStream {
  events: (Json | string)[];
  /** The end: [DONE], nothing, or a broken connection. */
  end: 'done' | 'quiet' | 'dies';
}

/** A JSON body. */
export interface WholeBody {
  status: number;
  body: Json;
}

export interface Scene {
  row: Row;
  messages: readonly Message[];
  max_tokens: number;
  include_usage: boolean;
  /** Whether the caller asks for a stream. */
  streamed: boolean;
  /** The upstream's answer: a stream, or a body. */
  answer: SentStream | WholeBody;
  /** The caller leaves after so many chunks; null: the caller stays. */
  leaves: number | null;
  /** The call has an Idempotency-Key. */
  keyed?: boolean;
}

export interface Verdict {
  status: 'COMPLETED' | 'FAILED';
  code: string | null;
  quote: bigint;
  charge: bigint;
  /** The operator's cost in micro-USD; null: unknown. */
  cost: bigint | null;
  /** The call's HTTP status; null if the caller left. */
  http: number | null;
  /** Chunks for a caller who stays; null: the service cuts a whole reply into chunks. */
  shown: Json[] | null;
  /** The stream ends with an error. */
  broken: boolean;
  /** Some of the reply was delivered, and the upstream reported no usage. */
  counted: boolean;
}

const million = 1_000_000n;
const up = (exact: bigint): bigint => (exact + million - 1n) / million;
const quarter = (bytes: number): number => Math.ceil(bytes / 4);
const bytesOf = (text: unknown): number =>
  typeof text === 'string' ? new TextEncoder().encode(text).length : 0;
const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Larger counts are ignored. */
const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 100_000_000;

/** The bound of a prompt: one token for a word's first letter, two thirds for each further one. */
function promptBound(messages: readonly Message[]): number {
  let tokens = 128;
  for (const { word, pictures } of messages)
    tokens += 16 + Math.ceil((3 + 2 * (word.length - 1)) / 3) + 4096 * pictures;
  return tokens;
}

function quoteOf({ row, messages, max_tokens }: Scene): bigint {
  const tokens = BigInt(promptBound(messages));
  return up(rows[row].input * tokens + rows[row].output * BigInt(max_tokens));
}

/** Three tokens for a message's frame, and text at four bytes a token. */
function promptCount(messages: readonly Message[], pictureTokens: number): number {
  let tokens = 0;
  for (const { word, pictures } of messages)
    tokens += 3 + quarter(word.length) + pictures * pictureTokens;
  return tokens;
}

/** The outcome of a call: the pieces of the reply in order, and how it ended. */
interface Course {
  pieces: Json[];
  /** The last report. */
  usage: unknown;
  /** Text came after the report, or in its chunk if that is not the last one. */
  outrun: boolean;
  finish: string | null;
  end: 'whole' | 'broken' | 'left';
}

/** Whether a call ends when its caller leaves. */
const endsWithCaller = (row: Row): boolean => row === 'stop';

/** The verdict on one call. */
export function judge(scene: Scene): Verdict {
  const quote = quoteOf(scene);
  const free = { quote, charge: 0n, cost: null, shown: null, broken: false, counted: false };
  const refused = (http: number | null, code: string): Verdict => ({
    ...free,
    status: 'FAILED',
    code,
    http,
  });
  const { answer } = scene;
  // A reply that is kept for a repeat is completed; of a stream only the delivered part is kept.
  const isLetGo = endsWithCaller(scene.row) && (scene.streamed || !scene.keyed);
  if (scene.leaves === 0 && isLetGo) return refused(null, 'outcome_unknown');
  const http = (status: number) => (scene.leaves === null ? status : null);
  if ('body' in answer) return judgeWhole(scene, answer, http, refused);
  const [first] = answer.events;
  if (!isRecord(first)) return refused(http(502), 'outcome_unknown');
  const { course, shown, error } = walk(scene, answer);
  const broken = course.end === 'broken';
  const isNothing = deliveredBytes(course.pieces) === 0 && course.end !== 'left';
  // An error before the first word refuses the call, unless the model may have run.
  const refusing = isNothing && error !== null ? refusal(error, http, refused) : null;
  if (refusing && (refusing.code === 'upstream_failed' || !isRecord(course.usage))) return refusing;
  if (isNothing && (broken || course.finish === null || course.finish === 'error'))
    return nothing(scene, course, refused(http(502), 'outcome_unknown'));
  return { ...bill(scene, course, quote), http: http(200), shown, broken };
}

/** A reply without a word that failed: free for the caller; the operator may have to pay. */
function nothing({ row }: Scene, { usage }: Course, refusal: Verdict): Verdict {
  if (!isRecord(usage)) return refusal;
  const said = readUsage(usage);
  const told = costTold(usage);
  const { costInput, costOutput } = rows[row];
  const spent =
    said && up(costInput * BigInt(said.prompt ?? 0) + costOutput * BigInt(said.completion));
  const cost = told !== null && told > 0n ? told : (spent ?? told);
  return { ...refusal, code: 'upstream_failed', cost };
}

type RefusalRule = (http: number | null, code: string) => Verdict;

/** An error instead of a reply. `busy` and an empty account are not the caller's fault. */
function refusal(
  said: Json,
  http: (status: number) => number | null,
  refused: RefusalRule,
): Verdict {
  const code = Number(errorIn(said)!.code);
  if ([402, 429, 503].includes(code) || errorIn(said)!.type === 'insufficient_quota')
    return refused(http(503), 'upstream_failed');
  return refused(http(502), 'outcome_unknown');
}

function judgeWhole(
  scene: Scene,
  { status, body }: WholeBody,
  http: (status: number) => number | null,
  refused: RefusalRule,
): Verdict {
  if (status !== 200) {
    const isBusy = [402, 429, 503].includes(status);
    return isBusy ? refused(http(503), 'upstream_failed') : refused(http(502), 'outcome_unknown');
  }
  if (!Array.isArray(body.choices) || body.choices.length === 0)
    return errorIn(body) === null
      ? refused(http(502), 'outcome_unknown')
      : refusal(body, http, refused);
  const [{ message, finish_reason: finish = null }] = body.choices;
  const pieces = [message];
  // A body is whole also without a reason, unless a call was cut.
  const isCut = finish === null && !haveWholeCalls(pieces);
  const isBroken = errorIn(body) !== null || finish === 'error' || isCut;
  const end = isBroken ? 'broken' : 'whole';
  const course: Course = {
    pieces,
    usage: usageIn(body),
    outrun: false,
    finish: finish ?? 'stop',
    end,
  };
  const isNothing = isBroken && deliveredBytes(pieces) === 0;
  const refusing = isNothing && errorIn(body) !== null ? refusal(body, http, refused) : null;
  if (refusing && (refusing.code === 'upstream_failed' || !isRecord(course.usage))) return refusing;
  if (isNothing) return nothing(scene, course, refused(http(502), 'outcome_unknown'));
  const billed = bill(scene, course, quoteOf(scene));
  const broken = scene.streamed && isBroken;
  return { ...billed, shown: null, broken, http: http(200) };
}

interface WalkedStream {
  course: Course;
  shown: Json[];
  /** The event with the error that broke the stream off. */
  error: Json | null;
}

/** Reads a stream as far as it counts: to its end, its fault, or until the caller leaves. */
function walk({ row, leaves }: Scene, { events, end }: SentStream): WalkedStream {
  const course: Course = {
    pieces: [],
    usage: undefined,
    outrun: false,
    finish: null,
    end: 'whole',
  };
  const shown: Json[] = [];
  let isClosed = false;
  /** A completion of more than 0 was reported behind the last text. */
  let isCounted = false;
  for (const event of events) {
    // Behind the finish reason, a reply is whole, whatever follows.
    if (!isRecord(event) && course.finish !== null && course.finish !== 'error') break;
    if (!isRecord(event)) return { course: { ...course, end: 'broken' }, shown, error: null };
    const usage = usageIn(event);
    if (isRecord(usage)) {
      if (course.usage === undefined || !isOfNothing(usage)) course.usage = usage;
      course.outrun = false;
      const isOfText = deliveredBytes(course.pieces) > 0;
      isCounted ||= isOfText && (readUsage(usage)?.completion ?? 0) > 0;
    }
    // Behind the end and a usage of all words, an error breaks nothing off.
    const isEnded = course.finish !== null && course.finish !== 'error' && isCounted;
    if (errorIn(event) !== null && event.choices === undefined && isEnded)
      return { course, shown, error: null };
    // An upstream that reports usage and an error at once has reported its usage.
    if (errorIn(event) !== null)
      return { course: { ...course, end: 'broken' }, shown, error: event };
    const [choice] = (event.choices ?? []) as Json[];
    if (choice === undefined) isClosed ||= isRecord(usage);
    else {
      course.pieces.push(choice.delta);
      const isLast = typeof choice.finish_reason === 'string';
      if (isLast) course.finish = choice.finish_reason;
      if (deliveredBytes([choice.delta]) > 0 && !(isLast && isRecord(usage))) {
        course.outrun = true;
        isCounted = false;
      }
      isClosed ||= course.finish !== null;
      shown.push(event);
      if (!isShown(event)) continue;
      if (shown.filter(isShown).length === leaves && endsWithCaller(row))
        return { course: { ...course, end: 'left' }, shown, error: null };
    }
  }
  // Without a reason, a call without the end of its input was cut.
  const isOpen = course.finish === null && !haveWholeCalls(course.pieces);
  // A finish reason and a usage of all words show that nothing is missing.
  const isProven = course.finish !== null && isCounted;
  const isCut = isOpen || (end === 'dies' && !isProven) || (end === 'quiet' && !isClosed);
  if (isCut || course.finish === 'error') course.end = 'broken';
  return { course, shown, error: null };
}

/**
 * Whether a caller gets a chunk for this one at once. The role comes with the first piece, and the
 * finish reason at the end.
 */
export function isShown({ choices }: Json): boolean {
  const [choice] = (choices ?? []) as Json[];
  return choice !== undefined && deliveredBytes([choice.delta]) > 0;
}

/** Whether the input of each call is JSON. */
export function haveWholeCalls(pieces: readonly Json[]): boolean {
  const inputs: string[] = [];
  for (const { tool_calls: calls = [] } of pieces)
    for (const [at, { index = at, function: said }] of calls.entries())
      inputs[index] = (inputs[index] ?? '') + said.arguments;
  try {
    inputs.forEach((input) => JSON.parse(input) as unknown);
    return true;
  } catch {
    return false;
  }
}

function errorIn(said: Json): Json | null {
  const { error = null } = said;
  if (isRecord(error)) return error;
  if (typeof error === 'string') return { message: error };
  if (said.object === 'error') return said;
  return said.choices?.[0]?.finish_reason === 'error' && isRecord(said.choices[0].error)
    ? said.choices[0].error
    : null;
}

/** Without one of these, a usage reports nothing. */
const reported = ['prompt_tokens', 'completion_tokens', 'total_tokens', 'cost'];

function usageIn({ usage, x_groq: groq, timings }: Json): unknown {
  if (isRecord(usage) && reported.some((name) => name in usage)) return usage;
  if (isRecord(groq?.usage)) return groq.usage;
  if (!isRecord(timings)) return undefined;
  const prompt_tokens = (timings.cache_n ?? 0) + timings.prompt_n;
  return { prompt_tokens, completion_tokens: timings.predicted_n };
}

/** Charges the reported usage, else the counted text, at most the quote. */
function bill(
  { row, messages, streamed, max_tokens }: Scene,
  { pieces, usage: reported, outrun, finish, end }: Course,
  quote: bigint,
): Omit<Verdict, 'http' | 'shown' | 'broken'> {
  const bytes = deliveredBytes(pieces);
  // A report of 0 for a delivered text counts only if it comes last in a complete reply.
  const isFinal = !outrun && (end === 'whole' || !streamed || bytes === 0);
  const isZero = readUsage(reported)?.completion === 0;
  const usage = isZero && !isFinal ? undefined : reported;
  const told = costTold(usage);
  const said = readUsage(usage);
  const rates = rows[row];
  const spent = (read: number, written: number) =>
    up(rates.costInput * BigInt(read) + rates.costOutput * BigInt(written));
  // A cost of 0 does not count if the row states a cost.
  const costOf = (rowCost: bigint | null) =>
    told !== null && told > 0n ? told : (rowCost ?? told);
  if (bytes === 0 && (end === 'broken' || finish === 'error'))
    return {
      status: 'FAILED',
      code: 'upstream_failed',
      quote,
      charge: 0n,
      cost: costOf(said && spent(said.prompt ?? 0, said.completion)),
      counted: false,
    };
  // A reply of an outside service without a report is charged by its bound.
  const isBound = row !== 'stop' && end === 'whole';
  // A reported prompt counts even if the completion was not reported.
  const prompted = promptTold(reported);
  const count = (tokens: number) =>
    prompted ?? (isBound ? promptBound(messages) : promptCount(messages, tokens));
  let prompt = 0;
  let completion = 0;
  if (said !== null) {
    prompt = said.prompt ?? count(85);
    completion = said.completion;
  } else if (isBound) {
    prompt = count(0);
    const written = boundTokens(deliveredText(pieces));
    completion = row === 'thinks' ? max_tokens : Math.min(max_tokens, written);
  } else if (bytes > 0 || finish !== null) {
    // Otherwise breaking off or leaving a stream would make a prompt cheaper.
    prompt = count(end === 'whole' || !streamed ? 85 : 4096);
    completion = quarter(bytes);
  }
  const total = end === 'left' && finish === null ? null : totalAlone(reported);
  if (said === null && total !== null && (isBound || bytes > 0 || finish !== null)) {
    completion = Math.min(completion, total);
    prompt = total - completion;
  }
  const exact = rates.input * BigInt(prompt) + rates.output * BigInt(completion);
  const charge = up(exact) < quote ? up(exact) : quote;
  const counted = bytes > 0 && said === null;
  return {
    status: 'COMPLETED',
    code: null,
    quote,
    charge,
    cost: costOf(spent(prompt, completion)),
    counted,
  };
}

function readUsage(usage: unknown): { prompt: number | null; completion: number } | null {
  if (!isRecord(usage)) return null;
  const counts = completed(numbered(usage));
  const { prompt_tokens: prompt = null, completion_tokens: completion } = counts;
  if (!isCount(completion)) return null;
  return prompt === null || isCount(prompt) ? { prompt, completion: outputOf(counts) } : null;
}

/** Behind another report, one of no tokens at all does not count. */
function isOfNothing(usage: Json): boolean {
  const said = readUsage(usage);
  return said !== null && said.completion === 0 && !said.prompt;
}

/** A part that is missing is the rest of the total. */
function completed(counts: Json): Json {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = counts;
  if (!isCount(total)) return counts;
  const [input, output] = [prompt ?? null, completion ?? null];
  if (input === null && isCount(output) && total > outputOf(counts))
    return { ...counts, prompt_tokens: total - outputOf(counts) };
  if (output === null && isCount(input) && total > input)
    return { ...counts, completion_tokens: total - input };
  return counts;
}

/** A total without its parts. */
function totalAlone(usage: unknown): number | null {
  if (!isRecord(usage)) return null;
  const { prompt_tokens, completion_tokens, total_tokens: total } = numbered(usage);
  const isAlone = (prompt_tokens ?? null) === null && (completion_tokens ?? null) === null;
  return isAlone && isCount(total) && total > 0 ? total : null;
}

/** Counts may be texts of digits. */
function numbered(usage: Json): Json {
  const isDigits = (value: unknown) => typeof value === 'string' && /^\d{1,9}$/.test(value);
  return Object.fromEntries(
    Object.entries(usage).map(([name, value]) => [name, isDigits(value) ? Number(value) : value]),
  );
}

/** The reported prompt. 0 without a completion may mean that the prompt is not counted yet. */
function promptTold(usage: unknown): number | null {
  if (!isRecord(usage)) return null;
  const counts = completed(numbered(usage));
  const { prompt_tokens: prompt, completion_tokens: completion = null } = counts;
  if (completion !== null && !isCount(completion)) return null;
  return isCount(prompt) && prompt > 0 ? prompt : null;
}

/** The completion, and the reasoning that is reported beside it. */
function outputOf(usage: Json): number {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  const { reasoning_tokens: reasoning } = numbered(usage.completion_tokens_details ?? {});
  const rest = isCount(prompt) && isCount(total) ? total - prompt : 0;
  if (!isCount(reasoning)) return Math.max(completion, rest);
  return rest === completion + reasoning ? rest : Math.max(completion, reasoning);
}

/**
 * The reported cost: dollars with at most nine decimals, as micro-USD, rounded up. With the
 * operator's own key the provider's bill is added. 10,000 dollars or more are ignored.
 */
function costTold(usage: unknown): bigint | null {
  const { cost, is_byok = false, cost_details = {} } = isRecord(usage) ? usage : {};
  if (typeof cost !== 'number' || cost < 0) return null;
  const whole = cost + (is_byok ? (cost_details.upstream_inference_cost ?? 0) : 0);
  if (whole >= 10_000) return null;
  const billionths = BigInt(whole.toFixed(9).replace('.', ''));
  return (billionths + 999n) / 1000n;
}

/** The delivered text as one string, as it came; the parts of a call stand at its beginning. */
function deliveredText(pieces: readonly Json[]): string {
  const texts: { text: string }[] = [];
  const calls = new Map<number, { text: string }>();
  for (const piece of pieces) {
    texts.push({ text: thoughtIn(piece) + textIn(piece.content) + textIn(piece.refusal) });
    for (const [at, { index = at, function: said }] of (piece.tool_calls ?? []).entries()) {
      const call = calls.get(index) ?? { text: said.name };
      if (!calls.has(index)) texts.push(call);
      call.text += said.arguments;
      calls.set(index, call);
    }
  }
  return texts.map(({ text }) => text).join('');
}

/** The reasoning of a piece. A text that has several names counts once. */
export function thoughtIn(piece: Json): string {
  const { reasoning_details: details = [], reasoning_content, reasoning, content } = piece;
  const parts = Array.isArray(content) ? content.flatMap(({ thinking = [] }) => thinking) : [];
  return (
    details.map(({ text, summary }: Json) => text ?? summary ?? '').join('') ||
    reasoning_content ||
    reasoning ||
    parts.map(({ text }: Json) => text).join('')
  );
}

/** A text, which may come as a list of parts. */
export function textIn(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  return content.map(({ text = '' }: Json) => text).join('');
}

/** Bytes of all that was written: reasoning once, text, refusal, names and arguments of calls. */
function deliveredBytes(pieces: readonly Json[]): number {
  const named = new Map<number, number>();
  let total = 0;
  for (const piece of pieces) {
    total += bytesOf(thoughtIn(piece) + textIn(piece.content) + textIn(piece.refusal));
    for (const [at, { index = at, function: call }] of (piece.tool_calls ?? []).entries()) {
      total += bytesOf(call.arguments);
      // A name comes whole; some servers repeat it.
      if (!named.get(index)) named.set(index, bytesOf(call.name));
    }
  }
  for (const bytes of named.values()) total += bytes;
  return total;
}
