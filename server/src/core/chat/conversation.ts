import type { Json } from '../../lib/json.ts';
import type { TextPiece, ThoughtPiece } from './reply.ts';

/** A chat call, whatever API it came by. It can express more than each of the APIs. */
export interface Conversation {
  /** The caller's API, whose names errors and `x-ignored-fields` use. */
  api: ApiName;
  /** In the order in which they were said. The results of tools are in turns of the user. */
  turns: Turn[];
  tools: Tool[];
  choice: ToolChoice;
  /** Whether the model may call several tools at once; null: not said. */
  parallel: boolean | null;
  format: ReplyFormat | null;
  settings: Settings;
  /** Checked fields with one name in all APIs that know them. Upstreams get those they know. */
  extras: Json;
}

export interface Turn {
  by: 'system' | 'developer' | 'user' | 'assistant';
  name: string | null;
  blocks: Block[];
  /** The caller's path of the turn, such as `messages[1]` or `input[3]`. */
  at: string;
  /** The content was a list of parts, and is sent as one where the API has both forms. */
  listed?: true;
  /** Completions: the id of an earlier reply's audio. */
  audio_id?: string;
}

export type Block = TextBlock | RefusalBlock | MediaBlock | ThoughtBlock | CallBlock | ResultBlock;

interface AnyBlock {
  /** The caller's path of the block, such as `messages[1].content[0]`. */
  at: string;
  /** The prompt up to the end of this block is to be cached. */
  mark?: true;
}

interface AnyText extends AnyBlock, Pick<TextPiece, 'text' | 'phase'> {}
export interface RefusalBlock extends AnyText {
  type: 'refusal';
}
export interface TextBlock extends AnyText {
  type: 'text';
}

export interface MediaBlock extends AnyBlock {
  type: 'image' | 'audio' | 'file';
  media: Media;
  /** How closely an image is looked at: `auto`, `low` or `high`. */
  detail?: string;
  /** The name of a sound's format, such as `mp3`. */
  format?: string;
}

/** A thought of an earlier reply. */
export interface ThoughtBlock extends AnyBlock, Omit<ThoughtPiece, 'index'> {}

export interface CallBlock extends AnyBlock {
  type: 'call';
  id: string;
  name: string;
  /** JSON, or any text if the call is `custom`. As the model wrote it, so it may be broken. */
  input: string;
  custom: boolean;
}

export interface ResultBlock extends AnyBlock {
  type: 'result';
  /** The id of the call. */
  call: string;
  blocks: (TextBlock | MediaBlock)[];
  failed: boolean;
}

/**
 * `base64` or `text`: the bytes as base64 or as text, or what stands for them until the body is
 * sent. `url`: an http(s) address. `file_id`: a stored file.
 */
export interface Media {
  /** The media type as told by the bytes, else by the caller; null: unknown. */
  type: string | null;
  from: 'base64' | 'text' | 'url' | 'file_id';
  value: string;
  /** Null: none was given. */
  name: string | null;
  /** The caller's path of the value, such as `messages[0].content[1].image_url.url`. */
  at: string;
}

export interface Tool {
  name: string;
  description: string | null;
  /** JSON schema of the input; null: none was given. */
  parameters: Json | null;
  strict: boolean | null;
  /** The input is a text, perhaps of this grammar. */
  custom: { grammar: { syntax: string; definition: string } | null } | null;
  mark?: true;
}

/** `only`: the names among which the model may choose; null: all. */
export interface ToolChoice {
  mode: 'auto' | 'none' | 'any' | 'tool' | null;
  /** For `tool`. */
  tool: string | null;
  only: readonly string[] | null;
}

export type ReplyFormat =
  | { type: 'json' }
  | {
      type: 'schema';
      name: string;
      description: string | null;
      schema: Json;
      strict: boolean | null;
    };

/** Settings that several APIs have in one meaning; null: not said. */
export interface Settings {
  temperature: number | null;
  top_p: number | null;
  top_k: number | null;
  stop: readonly string[];
  /** `none` turns thinking off. */
  effort: string | null;
  /** How thinking is turned on or off, where a caller says more than an effort. */
  thinking: { type: string; budget_tokens: number | null } | null;
  /** Responses: how thinking is summarized, and whether a proof of it was requested. */
  summary: string | null;
  proofs: boolean;
  verbosity: string | null;
  logprobs: boolean | null;
  top_logprobs: number | null;
  user: string | null;
}

export type ApiName = 'completions' | 'messages' | 'responses';
