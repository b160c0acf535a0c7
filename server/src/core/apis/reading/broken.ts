import { isObject, objectOf, type Json } from '../../../lib/json.ts';
import type { ChatRefusal } from '../../chat/refusal.ts';
import { isFilled } from '../../check.ts';

/**
 * A reply did not come to its end, or is none. `error` is what the upstream said about it, in the
 * upstream's own form, or null. It may contain our key and the caller's input.
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
export function failed(error: unknown, otherwise: Json = {}): ReplyBroken {
  const said = errorOf(error) ?? otherwise;
  return new ReplyBroken('the model ended the reply with an error', said);
}

/** The reply ended too early, without an error. */
export function endedEarly(): ReplyBroken {
  return new ReplyBroken('its answer ended before the reply was complete');
}

/** Fields with words about an error, in bodies that are nothing but the error. */
const words = ['message', 'msg', 'error_msg', 'detail', 'errors', 'title'];

/** The error that a piece of a reply has in any of the usual forms; null if it has none. */
export function errorIn(piece: Json): Json | null {
  const stated = statedIn(piece);
  return stated && innermost(stated);
}

function statedIn(piece: Json): Json | null {
  const error = errorOf(piece.error);
  if (error !== null) return isFilled(piece.error) ? { ...besides(piece), ...error } : error;
  if (piece.object === 'error' || piece.type === 'error') return piece;
  const { status_code: code = 0, status_msg } = objectOf(piece.base_resp);
  if (code !== 0) return { code, message: status_msg };
  const { Code, Message } = objectOf(objectOf(piece.Response).Error);
  if (isFilled(Code)) return { code: Code, message: Message };
  return !Array.isArray(piece.choices) && words.some((word) => isWords(piece[word])) ? piece : null;
}

/** Gateways put the error of the server behind them into their own. */
function innermost(error: Json): Json {
  const { raw } = objectOf(error.metadata);
  for (const text of [raw, error.message]) {
    const inner = objectOf(typeof text === 'string' ? parsed(text) : null);
    const errors = [inner, ...Object.values(inner).filter(isObject)].map(errorIn);
    const own = errors.find((each) => each !== null);
    if (own) return { ...error, ...own };
  }
  return isFilled(raw) ? { ...error, message: raw } : error;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** The value of a field `error`. Empty values are no error. */
function errorOf(error: unknown): Json | null {
  if (isFilled(error)) return { message: error };
  if (Array.isArray(error)) return errorOf(error[0]);
  if (!isObject(error) || Object.keys(error).length === 0) return null;
  return isFilled(error.message) ? error : (errorOf(error.error) ?? error);
}

function besides({ code, type, param, status }: Json): Json {
  const given = Object.entries({ code, type, param, status });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function isWords(value: unknown): boolean {
  return isFilled(value) || (Array.isArray(value) && value.length > 0);
}
