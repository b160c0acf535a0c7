import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { boolean, integer, number, text } from '../check.ts';
import type { Shape } from './known-fields.ts';

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

type Body = Json & { messages: Json[] };

/** The optional fields that a body has. */
export function optionalIn(body: Body): string[] {
  return optionalNames.filter((name) =>
    name === cacheMark ? isMarked(body) : Object.hasOwn(body, name),
  );
}

/** The body without the optional fields that do not pass. */
export function passedBody<T extends Body>(body: T, passes: (name: string) => boolean): T {
  const left = optionalIn(body).filter((name) => !passes(name));
  if (left.length === 0) return body;
  const kept = Object.fromEntries(Object.entries(body).filter(([name]) => !left.includes(name)));
  if (!left.includes(cacheMark)) return kept as T;
  const messages = body.messages.map((message) =>
    Array.isArray(message.content) ? { ...message, content: unmarkedContent(message) } : message,
  );
  const tools = Array.isArray(body.tools) && { tools: body.tools.map(unmarked) };
  return { ...kept, messages, ...tools } as T;
}

/** Whether a content part or a tool has a mark. */
function isMarked({ messages, tools }: Body): boolean {
  const inOne = (list: unknown) =>
    Array.isArray(list) && list.some((each) => isObject(each) && cacheMark in each);
  return messages.some(({ content }) => inOne(content)) || inOne(tools);
}

/**
 * The content without marks. If a system or tool message had a mark and has only texts, they become
 * one text, because every server takes a text there.
 */
function unmarkedContent({ role, content }: Json): unknown {
  const parts = (content as Json[]).map(unmarked);
  const wasMarked = itemsOf(content).some((part) => cacheMark in objectOf(part));
  const isJoined = wasMarked && (role === 'system' || role === 'tool');
  return isJoined && parts.every(({ type }) => type === 'text')
    ? parts.map(({ text }) => text).join('\n\n')
    : parts;
}

function unmarked({ cache_control: _mark, ...rest }: Json): Json {
  return rest;
}
