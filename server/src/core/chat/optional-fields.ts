import { boolean, integer, number, text, type Shape } from '../check.ts';

/**
 * Fields of a chat that only some servers know. Each upstream's definition names the fields that it
 * gets. Other upstreams refuse unknown fields, or bill the operator for their effects.
 */

const effort: Shape = {
  fields: { effort: text, max_tokens: integer, exclude: boolean, enabled: boolean },
};

export const optionalFields: Readonly<Record<string, Shape>> = {
  top_k: integer,
  top_a: number,
  min_p: number,
  repetition_penalty: number,
  reasoning: effort,
  reasoning_format: text,
  include_reasoning: boolean,
  thinking: { fields: { type: text, budget_tokens: integer } },
  enable_thinking: boolean,
  thinking_budget: integer,
  // Only booleans pass: a text would get into the prompt, beyond what was counted.
  chat_template_kwargs: {
    fields: { enable_thinking: boolean, thinking: boolean, preserve_thinking: boolean },
  },
  prompt_cache_key: text,
  safety_identifier: text,
};

/** Marks a content part or a tool: the prompt up to its end is to be cached. */
export const cacheMark = 'cache_control';
/** Without `ttl`, because a longer lifetime costs more than the row's price of a cache write. */
export const cacheMarkShape: Shape = { fields: { type: text } };

/** Names that an upstream's definition may list. */
export const optionalNames: readonly string[] = [...Object.keys(optionalFields), cacheMark];

/**
 * In place of fields: what the server has refused otherwise. Templates of some models refuse a
 * message of the system behind others, and two messages of one side. Mistral refuses ids of calls
 * that have no 9 characters, a user directly behind a tool, and an unmarked beginning of an answer.
 * Moonshot and Gemini refuse `true` and `false` in place of a schema.
 */
export const habits = {
  systemFirst: 'system first',
  inTurn: 'user and assistant in turn',
  shortIds: 'ids of 9',
  answerFirst: 'an answer behind results',
  prefix: 'a marked prefix',
  schemas: 'objects as schemas',
} as const;

/** Fields of a message that an upstream's definition may list. */
export const messageFields: readonly string[] = [
  'name',
  'refusal',
  'audio',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'extra_content',
];
