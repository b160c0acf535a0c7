import { isObject, isWithinDepth, objectOf, type Json } from '../../lib/json.ts';
import { roundLong } from '../../lib/long-integers.ts';
import { FetchError } from '../../lib/outbound/fetch-error.ts';
import { jsonPieces, type JsonPieces } from '../../lib/outbound/json-pieces.ts';
import type { ReplyEvent } from '../chat/reply.ts';
import type { ReplyContext, OpenReader, ReplyReader } from './api.ts';
import type { ChatRefusal } from '../chat/refusal.ts';
import { isFilled } from '../check.ts';
import { depthMax, jsonIn, textOf } from './reading/pieces.ts';

/** Ample: the last event of OpenAI's Responses repeats the whole reply, and the call's tools. */
const pieceMaxChars = 32 * 1024 * 1024;

/** Data, or the name of an event, with which servers show that they are still at work. */
const lifeSign =
  /^(?::|\W*(?:ping|keep[-_ ]?alive|heart[-_ ]?beat|processing|connected)\W*$|null$|true$|""$)/i;
/** The mark of the end, as servers write it. */
const endMark = /^"?(?:\[?done\]*|\[end\])"?$/i;
/** Names of fields with counts. Nearly every piece has none, and is not searched for them. */
const counts = /usage|timings|eval_count|metrics|billed_units|_tokens"/i;
/** Fields in which some gateways wrap each piece of a reply. */
const wrappers = ['data', 'result', 'response', 'output', 'body'];

/** Whether a value is a reply, or a piece of one, in any of the APIs. */
function isReply(value: unknown): value is Json {
  if (!isObject(value)) return false;
  const { type, choices, output, role, content, response } = value;
  const isEvent = isFilled(type) && typeForm.test(type);
  const isMessage = role === 'assistant' && content !== undefined;
  const hasList = isObject(choices) || Array.isArray(choices ?? output);
  return isEvent || hasList || isMessage || typeof response === 'string';
}

const typeForm = /^(message(_start|_delta|_stop)?$|content_block_|response\.)/;

type ReplyBody = AsyncIterable<Uint8Array | Json> | Iterable<Json>;

/**
 * The events of a reply. The body may have any form, whatever its label says; an upstream in this
 * process sends its pieces as values. Events that came before an error count as delivered.
 *
 * @throws ReplyBroken if the body holds no reply, or ends before the reply is complete
 * @throws FetchError if the bytes break off, or `too_large`
 */
export async function* readReply(
  body: ReplyBody,
  open: OpenReader,
  context: ReplyContext,
): AsyncGenerator<ReplyEvent> {
  const ready: ReplyEvent[] = [];
  const reading = new Reading(open, context, ready);
  try {
    for await (const chunk of body) {
      reading.add(chunk);
      for (const event of ready.splice(0)) yield event;
      if (reading.isOver()) break;
    }
    reading.end();
  } catch (error) {
    const broken = reading.broken(error);
    for (const event of ready.splice(0)) yield event;
    if (broken) throw error;
  }
  for (const event of ready.splice(0)) yield event;
}

/** A reply that was read at once. */
export interface WholeReply {
  events: ReplyEvent[];
  /** Why it broke off after these events; null: it did not. */
  error: unknown;
}

/** As `readReply`, at once: each event of a generator costs some turns of the microtask queue. */
export async function readWhole(
  body: ReplyBody,
  open: OpenReader,
  context: ReplyContext,
): Promise<WholeReply> {
  const events: ReplyEvent[] = [];
  const reading = new Reading(open, context, events);
  try {
    for await (const chunk of body) {
      reading.add(chunk);
      if (reading.isOver()) break;
    }
    reading.end();
  } catch (error) {
    if (reading.broken(error)) return { events, error };
  }
  return { events, error: null };
}

/** A reply that is being read. Its events are added to `said`. */
class Reading {
  readonly #reader: ReplyReader;
  readonly #pieces: JsonPieces;
  #isMarked = false;
  #isOfValues = false;
  #hasSaid = false;
  /** A usage came behind all that was said. */
  #isCounted = false;
  /** The error came in a piece of its own, behind the usage. */
  #isLate = false;

  constructor(open: OpenReader, context: ReplyContext, said: ReplyEvent[]) {
    this.#reader = open(context, (event) => {
      // Some services report 0 until they have counted.
      if (event.type !== 'usage') this.#isCounted = false;
      else if (event.usage.completion_tokens) this.#isCounted = this.#hasSaid;
      this.#hasSaid ||= event.type !== 'usage';
      said.push(event);
    });
    this.#pieces = jsonPieces(pieceMaxChars, (value, text, name) => {
      // Some proxies encode each value twice.
      const piece = jsonIn(value);
      const isNamed = name !== undefined && lifeSign.test(name);
      const isSign = isNamed && !isReply(piece) && !objectOf(piece).error;
      if (this.isOver() || isSign || lifeSign.test(text)) return;
      if (endMark.test(text)) return void (this.#isMarked = true);
      const mayCount = counts.test(text);
      for (const each of Array.isArray(piece) ? piece : [piece])
        this.#read(each, text, name, mayCount);
    });
  }

  add(chunk: Uint8Array | Json): void {
    if (chunk instanceof Uint8Array) this.#pieces.add(chunk);
    else this.#read(chunk, '', undefined, true);
    // The end of values is as plain as a mark.
    this.#isOfValues = !(chunk instanceof Uint8Array);
  }

  /** Nothing more will follow. */
  isOver(): boolean {
    return this.#isMarked || this.#reader.isOver();
  }

  /** Throws `ReplyBroken` if the reply is not complete. */
  end(): void {
    this.#pieces.end();
    this.#reader.end(this.#isMarked || this.#isOfValues ? 'mark' : 'last');
  }

  /** Says what is left after an error. False: the reply is complete all the same. */
  broken(error: unknown): boolean {
    const isFault = error instanceof ReplyBroken;
    // The last line may lack nothing but its end. A rest that cannot be read may be of the reply.
    const isRead = isFault ? error.error === null : isDone(() => this.#pieces.end());
    // After its end mark a reply is whole, even if the connection breaks then. Without one, only a
    // finish reason with a usage shows after a break that nothing is missing.
    const isSure = isFault || this.#isMarked || this.#isCounted;
    // Some services send an error behind a reply that has its end and its usage.
    const isCut = isRead || this.#isLate;
    const isWhole = isCut && isDone(() => this.#reader.end(this.#isMarked ? 'mark' : 'fault'));
    if (!isWhole) this.#reader.cut();
    return !(isWhole && isSure);
  }

  #read(piece: unknown, text: string, name: string | undefined, mayCount: boolean): void {
    const isDeep = text.length > 2 * depthMax && !isWithinDepth(piece, depthMax);
    if (!isObject(piece) || isDeep)
      throw name === 'error' ? failedReply(text) : unreadableReply(text);
    const isBare = 'choices' in piece || isReply(piece);
    const wrapper = isBare ? undefined : wrappers.find((each) => isReply(piece[each]));
    const own = wrapper === undefined ? piece : { ...piece, ...objectOf(piece[wrapper]) };
    const wasCounted = this.#isCounted;
    this.#reader.read(own, name, mayCount);
    const error = errorIn(own) ?? (name === 'error' ? own : null);
    this.#isLate = error !== null && wasCounted && !isReply(own);
    if (error) throw failedReply(error);
  }
}

/** Whether what is left of a reply can be read. */
function isDone(read: () => void): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (!(error instanceof ReplyBroken || error instanceof FetchError)) throw error;
    return false;
  }
}

function unreadableReply(text: string): ReplyBroken {
  const isPage = text.startsWith('<');
  return new ReplyBroken(isPage ? 'answered with a page' : 'its answer has an invalid piece');
}

/**
 * A reply ended early, or the body was no reply. `error` is the upstream's own message, or null. It
 * may contain our key and the caller's input.
 */
export class ReplyBroken extends Error {
  readonly error: Json | null;
  readonly refused: RefusedReply | null;
  constructor(message: string, error: Json | null = null, refused: RefusedReply | null = null) {
    super(message);
    this.name = 'ReplyBroken';
    this.error = error;
    this.refused = refused;
  }
}

/** The upstream refused the call after it had begun to answer. */
export interface RefusedReply {
  /** For the caller. */
  message: string;
  refusal: ChatRefusal;
}

/** The reply failed, as the upstream says. */
export function failedReply(error: unknown, otherwise: Json = {}): ReplyBroken {
  const said = errorOf(error) ?? otherwise;
  return new ReplyBroken('the model ended the reply with an error', said);
}

/** The reply ended too early, without an error. */
export function endedEarly(): ReplyBroken {
  return new ReplyBroken('its answer ended before the reply was complete');
}

/** Fields with words about an error, in bodies that are nothing but the error. */
const words = 'message msg error_msg error_message errorMessage detail errors title'.split(' ');
/** Other names of a field `error`, such as AWS's `throttlingException`. */
const errorName = /^err(?:ors)?$|exception$/i;

/** The error that a piece of a reply has in any of the usual forms; null if it has none. */
export function errorIn(piece: Json): Json | null {
  const stated = statedIn(piece);
  return stated && innermost(objectOf(roundLong(stated)));
}

function statedIn(piece: Json): Json | null {
  const { detail, status } = piece;
  const error = errorOf(piece.error);
  if (error !== null) return isFilled(piece.error) ? { ...besides(piece), ...error } : error;
  if (piece.object === 'error' || piece.type === 'error') return piece;
  const { status_code: code = 0, status_msg } = objectOf(piece.base_resp);
  // Other services have numbers of their own in an error's code.
  if (code !== 0) return { code: textOf(code), message: status_msg };
  const { Code, Message } = objectOf(objectOf(piece.Response).Error);
  if (isFilled(Code)) return { code: Code, message: Message };
  if (isReply(piece) || saysNoFault(piece)) return null;
  const [type, own] = Object.entries(piece).find(
    ([name, value]) => errorName.test(name) && (isObject(value) || isFilled(value)),
  ) ?? [''];
  const named = errorOf(own);
  if (named !== null) return { type, ...named };
  const isFailed = /^(?:error|fail(?:ed|ure)?)$/i.test(textOf(status));
  return isFailed || words.some((word) => isWords(piece[word])) ? piece : errorOf(detail);
}

/** A sign of life, or a success without a part of the reply, may have words, too. */
function saysNoFault({ code, status, type, object, event }: Json): boolean {
  const isSign = [type, object, event].some((each) => isFilled(each) && notice.test(each));
  return isSign || noFault.test(textOf(code ?? status));
}

const notice = new RegExp(`${lifeSign.source}|^(?:info|notice|progress|debug|log)$`, 'i');
const noFault =
  /^(0|200|202|ok|success|accepted|(in_?)?queued?|pending|waiting|scheduled|start(ing|ed)|loading|processing|in_?progress|running)$/i;

/** Gateways put the error of the server behind them into their own. */
function innermost(error: Json): Json {
  const { raw } = objectOf(error.metadata);
  for (const text of [raw, error.message]) {
    const inner = objectOf(jsonIn(typeof text === 'string' ? text.replace(/^[^{]*/, '') : null));
    const errors = [inner, ...Object.values(inner).filter(isObject)].map(errorIn);
    const own = errors.find((each) => each !== null);
    if (own) return { ...error, ...own };
  }
  return isFilled(raw) ? { ...error, message: raw } : error;
}

/** The value of a field `error`. Empty values are no error. */
function errorOf(error: unknown): Json | null {
  if (isFilled(error)) return { message: error };
  if (Array.isArray(error)) return errorOf(error[0]);
  if (!isObject(error) || !Object.values(error).some(Boolean)) return null;
  if (noFault.test(textOf(error.code)) && !isFilled(error.type)) return null;
  return isFilled(error.message) ? error : (errorOf(error.error) ?? error);
}

function besides({ code, type, param, status }: Json): Json {
  const given = Object.entries({ code, type, param, status });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function isWords(value: unknown): boolean {
  return isFilled(value) || (Array.isArray(value) && value.length > 0);
}
