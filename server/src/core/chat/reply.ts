import type { Json } from '../../lib/json.ts';

/**
 * A reply as it happens. The reader of each chat API makes these events, and the writer of each
 * takes them. A whole reply is the same events at once. Only readers trust nothing: their events
 * are always in this form.
 */
export type ReplyEvent = TextPiece | ThoughtPiece | CallBegin | InputPiece | Counted | ReplyEnd;

/** A piece of the text that the model says, or says instead of an answer. Never empty. */
export interface TextPiece {
  type: 'text' | 'refusal';
  text: string;
  /** The log probabilities of the piece's tokens, in OpenAI's form. */
  logprobs: Json[] | null;
  /** OpenAI's name of the part of the turn that the text is, such as `commentary`. */
  phase?: string;
}

/** A piece of the reasoning. It has a text or a signature. */
export interface ThoughtPiece {
  type: 'thought';
  /** `hidden`: data that only the model can read. It comes whole. */
  form: 'text' | 'summary' | 'hidden';
  text: string;
  /** Proves to the model that it wrote the text. Nothing of the thought comes after it. */
  signature: string | null;
  id: string | null;
  /** OpenRouter's name of the form of signature and data, such as `anthropic-claude-v1`. */
  format: string | null;
  /** Pieces of one thought have the same index. Null for a text that has neither proof nor id. */
  index: number | null;
}

/** A tool call begins. Calls are numbered from 0 in the order in which they begin. */
export interface CallBegin {
  type: 'call';
  call: number;
  /** Not empty, and no other call of the reply has it. */
  id: string;
  name: string;
  /** The tool's input is a text, not JSON. */
  custom: boolean;
}

/**
 * A piece of a call's input. Pieces of several calls may be mixed. Unless the call is `custom` or
 * the reply breaks off, they add up to JSON.
 */
export interface InputPiece {
  type: 'input';
  call: number;
  text: string;
}

/**
 * Usage that the upstream reports, with the names of chat completions. The last report counts;
 * `usage.ts` reads it.
 */
export interface Counted {
  type: 'usage';
  usage: Json;
}

/** The end. Only usage may follow. A reply without it broke off. */
export interface ReplyEnd {
  type: 'end';
  reason: FinishReason;
  /** The caller's stop text that ended the reply, if the upstream names it. */
  stop: string | null;
}

/** `tools`: the model waits for results. `filter`: it refused, or a filter cut the reply. */
export type FinishReason = 'stop' | 'length' | 'tools' | 'filter';

/**
 * More tool calls than any model makes in one reply. Without a limit, a faulty upstream could open
 * a new one in every piece.
 */
export const callsMax = 1_024;
