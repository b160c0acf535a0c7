import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { doors } from '../apis/doors.ts';

/** Replies of real services, as data: each JSON file in a folder of `cases/` has a list of cases. */

export type Json = Record<string, any>;
export type DoorName = keyof typeof doors;

/** An answer of the upstream. Its body is one of `bytes`, `events`, `json`. */
export interface Answer {
  /** Default: 200. */
  status?: number;
  headers?: Record<string, string>;
  /** The body, in the pieces in which it arrives. */
  bytes?: string[];
  /** Values, or texts such as `[DONE]`, that arrive as the data of one server-sent event each. */
  events?: unknown[];
  json?: unknown;
  /** Compresses the body, although nobody asked for it; `raw` and `cut` lack headers or an end. */
  encoding?: 'gzip' | 'deflate' | 'br' | 'raw' | 'cut';
  /** The connection breaks after the body. */
  breaks?: boolean;
}

/** A caller's reply. Only named fields are compared, and always `error`. */
export interface ExpectedReply {
  text?: string;
  thoughts?: string;
  /** Calls of tools. Without an id, any id that is not empty. */
  calls?: { id?: string; name: string; input: unknown }[];
  finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** The code of the error, as the status line or as the end of a stream. */
  error?: string;
  /** Words of the error's message. */
  says?: string;
}

export interface Case {
  name: string;
  /** Public reports, as `owner/repo#number`; `review`: none is known. */
  source: string | string[];
  /** The row of the catalog, by the API of its upstream. */
  row: string;
  reply: Answer;
  /** The answer in place of `reply` to a call that has one of these texts in its body. */
  refuses?: { texts: string[]; reply: Answer };
  /** Fields of the caller's body for each door. Without it, every door gets a usual call. */
  calls?: Partial<Record<DoorName, Json>>;
  gives: ExpectedReply;
  /** For whole calls, in place of `gives`. */
  whole?: ExpectedReply;
  /** For one door, in place of `gives` and `whole`. */
  doors?: Partial<Record<DoorName, ExpectedReply>>;
  /** A part of the body that the upstream must get. Null: the field must be absent. */
  sent?: Json;
  /** The same, for the next turn: the reply as it came, and a result of each of its calls. */
  next?: Json;
  /** The header `x-ignored-fields`, for each door. */
  ignored?: Partial<Record<DoorName, string | null>>;
  /** Micro-USD. */
  charge?: number;
}

const root = join(import.meta.dirname, 'cases');

export const folders = readdirSync(root);

export function readCases(folder: string): Case[] {
  return readdirSync(join(root, folder)).flatMap((file): Case[] =>
    JSON.parse(readFileSync(join(root, folder, file), 'utf8')),
  );
}
