import { hash } from 'node:crypto';
import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { boolean, integer, isFilled, isGiven, object, oneOf, text } from '../check.ts';
import { badField, badRequest } from '../bad-request.ts';
import { rebuilt, unknownFields, type Shape } from '../chat/known-fields.ts';
import { cacheMark, cacheMarkShape } from '../chat/optional-fields.ts';
import { effortOfBudget } from '../chat/reasoning-effort.ts';
import { ApiError } from '../errors.ts';
import { readTurns } from './messages-content.ts';
import { pathIn } from './turn.ts';

/** Reads a call of Anthropic's Messages as the body of a chat completion. */

/** Fields that a chat completion has under the same name, and whose values it checks. */
const same = ['model', 'max_tokens', 'stream', 'temperature', 'top_p', 'top_k'];
const efforts = ['low', 'medium', 'high', 'xhigh', 'max'];
const thinkingType = oneOf('enabled', 'disabled', 'adaptive', 'between_tools');
const format: Shape = { fields: { type: text, schema: object } };

/** The other fields that are checked here. Null counts as omitted. */
const shapes: Readonly<Record<string, Shape>> = {
  tools: {
    list: {
      fields: {
        type: text,
        name: text,
        description: text,
        input_schema: object,
        strict: boolean,
        [cacheMark]: cacheMarkShape,
      },
    },
  },
  tool_choice: {
    fields: {
      type: oneOf('auto', 'any', 'tool', 'none'),
      name: text,
      disable_parallel_tool_use: boolean,
    },
  },
  stop_sequences: { list: text },
  metadata: { fields: { user_id: text } },
  thinking: {
    fields: {
      type: thinkingType,
      budget_tokens: integer,
    },
  },
  output_config: { fields: { effort: oneOf(...efforts), format } },
  output_format: format,
};

const read: ReadonlySet<string> = new Set([...same, ...Object.keys(shapes), 'system', 'messages']);

export function messagesIgnored(body: Json): string[] {
  return unknownFields(body, read, shapes);
}

/** @throws ApiError `bad_request` or `bad_messages`, which names the caller's field. */
export function messagesChatBody(body: Json): Json {
  refuseHosted(body);
  const call: Json = {};
  for (const [field, shape] of Object.entries(shapes))
    if (isGiven(body[field])) call[field] = rebuilt(body[field], shape, field, badField);
  const stops = itemsOf(call.stop_sequences);
  return {
    ...Object.fromEntries(same.map((field) => [field, body[field]])),
    messages: readTurns(body).map(({ message }) => message),
    ...toolsOf(call),
    ...(stops.length > 0 && { stop: stops }),
    user: userOf(objectOf(call.metadata)),
    reasoning_effort: effortOf(call),
    response_format: formatOf(call),
  };
}

/** The path of the caller's field for a path of the chat body, such as `messages[1].content[0]`. */
export function messagesPath(param: string, body: Json): string {
  if (!param.startsWith('messages[')) return param;
  return pathIn(readTurns(body), param) ?? 'messages';
}

function refuseHosted({ mcp_servers, container, thread }: Json): void {
  if (isGiven(thread)) throw noThread();
  const is = 'left out, because this service runs no tools for a model';
  if (isGiven(container)) throw badField('container', is);
  if (isGiven(mcp_servers) && !isEmpty(mcp_servers)) throw badField('mcp_servers', is);
}

/** This `error_code` makes Anthropic's client send the whole conversation instead. */
function noThread(): ApiError {
  return new ApiError('bad_request', {
    message: 'thread must be left out, because this service keeps no conversations.',
    param: 'thread',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function toolsOf({ tools, tool_choice }: Json): Json {
  const list = itemsOf(tools).map(objectOf);
  if (list.length === 0) return {};
  return { tools: list.map(toolOf), ...choiceOf(objectOf(tool_choice)) };
}

function toolOf(tool: Json, i: number): Json {
  const { type = 'custom', name, description, input_schema: parameters, strict } = tool;
  const at = `tools[${i}]`;
  if (type !== 'custom')
    throw badRequest(
      `${at}.type`,
      `${at}.type is ${String(type).slice(0, 60)}, a tool that Anthropic defines. Only tools that you define yourself work here, with name, description and input_schema.`,
    );
  if (!isFilled(name)) throw badField(`${at}.name`, 'the name of the tool');
  if (parameters === undefined) throw badField(`${at}.input_schema`, 'a JSON schema');
  return {
    type: 'function',
    function: { name, description, parameters, strict },
    [cacheMark]: tool[cacheMark],
  };
}

function choiceOf({ type, name, disable_parallel_tool_use: isSingle }: Json): Json {
  if (type === undefined) return {};
  if (type === 'tool' && !isFilled(name)) throw badField('tool_choice.name', 'the name of a tool');
  const tool_choice =
    type === 'tool' ? { type: 'function', function: { name } } : type === 'any' ? 'required' : type;
  return { tool_choice, ...(isSingle === true && { parallel_tool_calls: false }) };
}

/** OpenAI accepts 64 characters; Claude Code sends more. */
function userOf({ user_id }: Json): unknown {
  return isFilled(user_id) && user_id.length > 64 ? hash('sha256', user_id, 'hex') : user_id;
}

/** `xhigh` and `max` count as `high`, because few models know them. */
function effortOf({ thinking, output_config }: Json): string | null {
  const { type, budget_tokens: budget } = objectOf(thinking);
  if (isObject(thinking) && type === undefined) throw badField('thinking.type', thinkingType.is);
  if (type === 'enabled' && budget === undefined)
    throw badField('thinking.budget_tokens', 'an integer');
  if (type === 'disabled') return null;
  const { effort } = objectOf(output_config);
  if (typeof effort === 'string') return efforts.indexOf(effort) > 2 ? 'high' : effort;
  if (type !== 'enabled') return null;
  return effortOfBudget(Number(budget));
}

function formatOf({ output_config, output_format: older }: Json): Json | null {
  const newer = objectOf(output_config).format;
  const at = newer === undefined ? 'output_format' : 'output_config.format';
  const given = newer ?? older;
  if (!isObject(given)) return null;
  const { type, schema } = given;
  if (type !== 'json_schema') throw badField(`${at}.type`, 'json_schema');
  if (!isObject(schema)) throw badField(`${at}.schema`, 'a JSON schema');
  return { type, json_schema: { name: 'reply', schema, strict: isClosed(schema) } };
}

/** OpenAI follows a schema strictly only if its objects have neither optional nor other fields. */
function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (!isObject(schema)) return true;
  const { type, properties, required, additionalProperties } = schema;
  const isOpen = (type === 'object' || isObject(properties)) && additionalProperties !== false;
  const names = new Set(itemsOf(required));
  const isOptional = Object.keys(objectOf(properties)).some((name) => !names.has(name));
  return !isOpen && !isOptional && Object.values(schema).every(isClosed);
}
