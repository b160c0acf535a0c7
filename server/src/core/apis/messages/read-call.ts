import { isCount, isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { badField, badRequest } from '../../bad-request.ts';
import * as checks from '../../check.ts';
import * as common from '../read-call.ts';
import { anyObject } from '../writing.ts';
import type { Conversation, ReplyFormat, Tool } from '../../chat/conversation.ts';
import { cacheMark, cacheMarkShape } from '../../chat/optional-fields.ts';
import { ApiError } from '../../errors.ts';
import type { ReadCall } from '../api.ts';
import { readTurns } from './read-turns.ts';

const { boolean, integer, isFilled, isGiven, number, object, oneOf, text } = checks;

/** Reads a call of Anthropic's Messages. */

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'];
const modes = { auto: 'auto', any: 'any', none: 'none' } as const;
const thinkingType = oneOf('enabled', 'disabled', 'adaptive', 'between_tools');
const format: checks.KnownFields = { fields: { type: text, schema: object } };

const shape: checks.KnownFields = {
  fields: {
    ...common.each(common.anything, 'model', 'system', 'messages'),
    max_tokens: common.tokenLimit,
    stream: boolean,
    tools: {
      list: {
        fields: {
          ...common.each(text, 'type', 'name', 'description'),
          input_schema: object,
          strict: boolean,
          [cacheMark]: cacheMarkShape,
        },
      },
    },
    tool_choice: {
      fields: { type: text, name: text, disable_parallel_tool_use: boolean },
    },
    temperature: number,
    top_p: number,
    top_k: integer,
    stop_sequences: { list: text },
    metadata: { fields: { user_id: text } },
    thinking: { fields: { type: thinkingType, budget_tokens: integer } },
    output_config: { fields: { effort: oneOf(...efforts), format } },
    output_format: format,
  },
};

/** @throws ApiError `bad_request` or `bad_messages`, which names the caller's field. */
export function readMessagesCall(body: Json): ReadCall {
  if (!isGiven(body.max_tokens)) throw badField('max_tokens', common.tokenLimit.is);
  return readPrompt(body);
}

/** As `readMessagesCall`, but `max_tokens` may be missing, as in a call that only counts. */
export function readPrompt(body: Json): ReadCall {
  common.demandFew(body, 'messages');
  refuseHosted(body);
  const model = common.readModel(body.model);
  const left = new common.LeftOut();
  const given = Array.isArray(body.tools) ? body.tools.map(plainTool) : body.tools;
  const call = common.knownFields({ ...body, tools: given }, shape, '', badField, left);
  const tools = itemsOf(call.tools).map(objectOf).map(readTool);
  const conversation: Conversation = {
    api: 'messages',
    turns: readTurns(body, left),
    tools,
    choice: common.readToolChoice(call.tool_choice, tools, modes),
    parallel: objectOf(call.tool_choice).disable_parallel_tool_use === true ? false : null,
    format: formatOf(call),
    settings: readSettings(call),
    extras: {},
  };
  return {
    model,
    stream: call.stream === true,
    max_tokens: isCount(call.max_tokens) ? call.max_tokens : null,
    conversation,
    metadata: null,
    ignored: [...left.names],
  };
}

function readSettings(call: Json): Conversation['settings'] {
  const { type, budget_tokens: budget } = objectOf(call.thinking);
  if (isObject(call.thinking) && type === undefined)
    throw badField('thinking.type', thinkingType.is);
  if (type === 'enabled' && budget === undefined)
    throw badField('thinking.budget_tokens', 'an integer');
  const { temperature, top_p, top_k } = call;
  return common.settingsOf({
    temperature,
    top_p,
    top_k,
    stop: itemsOf(call.stop_sequences),
    effort: objectOf(call.output_config).effort,
    thinking: isFilled(type) ? { type, budget_tokens: budget ?? null } : null,
    user: objectOf(call.metadata).user_id,
  });
}

function refuseHosted({ mcp_servers, container, thread }: Json): void {
  if (isGiven(thread)) throw noThread();
  const is = 'left out, because this service runs no tools for a model';
  if (isGiven(container)) throw badField('container', is);
  const hasNone = Array.isArray(mcp_servers) && mcp_servers.length === 0;
  if (isGiven(mcp_servers) && !hasNone) throw badField('mcp_servers', is);
}

/** This `error_code` makes Anthropic's client send the whole conversation instead. */
function noThread(): ApiError {
  return new ApiError('bad_request', {
    message: 'thread must be left out, because this service keeps no conversations.',
    param: 'thread',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

/** A function as in OpenAI's APIs, in the form of Messages. */
function plainTool(tool: unknown): unknown {
  if (!isObject(tool) || tool.type !== 'function') return tool;
  const { type: _, function: inner, ...beside } = tool;
  const { parameters, ...own }: Json = { ...beside, ...objectOf(inner) };
  return { ...own, input_schema: own.input_schema ?? parameters ?? anyObject };
}

function readTool(tool: Json, i: number): Tool {
  const { type = 'custom', name, input_schema: parameters } = tool;
  const at = `tools[${i}]`;
  if (type !== 'custom')
    throw badRequest(
      `${at}.type`,
      `${at}.type is ${String(type).slice(0, 60)}, a tool that Anthropic defines. Only tools that you define yourself work here, with name, description and input_schema.`,
    );
  if (!isFilled(name)) throw badField(`${at}.name`, 'the name of the tool');
  if (!isObject(parameters)) throw badField(`${at}.input_schema`, 'a JSON schema');
  return {
    ...common.toolOf(tool, parameters),
    ...(isGiven(tool[cacheMark]) && { mark: true as const }),
  };
}

function formatOf({ output_config, output_format: older }: Json): ReplyFormat | null {
  const newer = objectOf(output_config).format;
  const at = newer === undefined ? 'output_format' : 'output_config.format';
  const given = newer ?? older;
  if (!isObject(given)) return null;
  const { type, schema } = given;
  if (type !== 'json_schema') throw badField(`${at}.type`, 'json_schema');
  if (!isObject(schema)) throw badField(`${at}.schema`, 'a JSON schema');
  return common.schemaFormat({ strict: isClosed(schema) }, schema);
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
