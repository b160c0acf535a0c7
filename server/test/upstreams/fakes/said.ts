import type { Answer } from './kit.ts';
import type { ChatDesk } from './openai-chat.ts';

type Json = Record<string, any>;

/** A model's reply, independent of an API. */
export interface SaidReply {
  thought?: { text: string; proof: string };
  text?: string;
  /** The model refuses: a separate text in Chat and Responses, a stop reason in Messages. */
  refuses?: true;
  calls?: { id: string; name: string; input: Json }[];
  finish?: 'stop' | 'length';
  /** The text of `stop` that ended the reply. Responses does not report it. */
  stop?: string;
  /** Default: the usual one. Null: the service reports none. */
  usage?: SaidUsage | null;
}

export interface SaidUsage {
  /** All tokens of the prompt, cached ones included. */
  prompt: number;
  cached: number;
  written: number;
  output: number;
  thinking: number;
}

export const usualUsage: SaidUsage = {
  prompt: 1_000,
  cached: 600,
  written: 100,
  output: 70,
  thinking: 20,
};

/** A stand-in of a service with one chat API. */
export interface FakeChat {
  /** The `url` for an upstream's definition. */
  url: string;
  key: string;
  desk: ChatDesk;
  close(): Promise<void>;
}

/** A chat API of upstreams. */
export interface ChatWire {
  adapter: 'openai' | 'anthropic';
  /** Options of the upstream's definition. */
  options: string;
  open(): Promise<FakeChat>;
  /** A whole reply. */
  whole(said: SaidReply): Json;
  /** The events of a streamed reply; the last ones have the end and the usage. */
  events(said: SaidReply): string[];
  /** An event that ends a stream with an error. */
  broken(message: string): string;
  /** An event that ends a stream with the refusal of its call. */
  refused(message: string): string;
  /** A refusal of a call. */
  refusal(status: number, message: string): Answer;
  /** The content of a call, independent of an API. */
  asked(body: Json): AskedCall;
}

export interface AskedCall {
  /** The texts of system, users and tools, in their order. */
  texts: string[];
  images: string[];
  tools: string[];
  schema: Json | null;
  /** The requested effort of reasoning. */
  effort: string | null;
  /** Proofs of reasoning that were sent back. */
  proofs: string[];
  /** Ids of the calls, and of the results. */
  calls: string[];
  results: string[];
}

export const eventOf = (value: Json, name?: string) =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`;

/** Pieces of a text, as a stream has them. */
export const piecesOf = (text: string): string[] => text.match(/[\s\S]{1,7}/gu) ?? [];
