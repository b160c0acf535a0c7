import { isCount, isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { badField, badRequest } from '../../bad-request.ts';
import * as checks from '../../check.ts';
import type { Conversation, ReplyFormat } from '../../chat/conversation.ts';
import * as common from '../read-call.ts';
import { readMetadata } from '../../request/metadata.ts';
import type { ReadCall } from '../api.ts';
import { readInput } from './read-input.ts';
import { offeredIn, readTools } from './tools.ts';

const { boolean, givenFields, integer, isFilled, isGiven, number, object, oneOf, text } = checks;

/** Reads a call of OpenAI's Responses. */

/**
 * The limit of calls that set none, as agents do. It is high, because a reply that is cut off stops
 * an agent. OpenAI uses the model's own limit, for which much more would have to be reserved.
 */
const maxTokensDefault = 32_768;

/** Fields that only a service that stores conversations can offer. */
const stored = ['previous_response_id', 'conversation', 'prompt'];

const modes = { none: 'none', auto: 'auto', required: 'any' } as const;

const shortText: checks.Check = {
  is: 'a string of at most 512 characters',
  test: (value) => typeof value === 'string' && value.length <= 512,
};

const shape: checks.KnownFields = {
  fields: {
    ...common.each(common.anything, ...stored, 'model', 'input', 'tools', 'tool_choice'),
    ...common.each(common.tokenLimit, 'max_output_tokens', 'max_tokens'),
    ...common.each(common.anything, 'background', 'store'),
    stream: boolean,
    stream_options: common.streamOptions,
    temperature: number,
    top_p: number,
    top_logprobs: integer,
    user: text,
    instructions: text,
    reasoning: { fields: { effort: text, summary: text } },
    text: {
      fields: {
        verbosity: text,
        format: {
          fields: {
            type: oneOf('text', 'json_object', 'json_schema'),
            name: text,
            description: text,
            schema: object,
            strict: boolean,
          },
        },
      },
    },
    include: { list: text },
    parallel_tool_calls: boolean,
    metadata: common.anything,
    // The reply repeats these, so they are short.
    max_tool_calls: integer,
    prompt_cache_key: shortText,
    safety_identifier: shortText,
    truncation: oneOf('auto', 'disabled'),
  },
};

/** @throws ApiError `bad_request` or `bad_messages`, which names the caller's field. */
export function readResponsesCall(body: Json): ReadCall {
  common.demandFew({ ...body, tools: offeredIn(body).map(([tool]) => tool) }, 'input');
  refuseStored(body);
  const model = common.readModel(body.model);
  const left = new common.LeftOut();
  const call = common.knownFields(body, shape, '', badField, left);
  const { prompt_cache_key, safety_identifier } = call;
  common.notePadding(call, left);
  const tools = readTools(body, left);
  const conversation: Conversation = {
    api: 'responses',
    turns: readInput(body, left),
    tools,
    choice: common.readToolChoice(body.tool_choice, tools, modes),
    parallel: (call.parallel_tool_calls as boolean | undefined) ?? null,
    format: formatOf(objectOf(objectOf(call.text).format)),
    settings: readSettings(call),
    extras: givenFields({ prompt_cache_key, safety_identifier }),
  };
  return {
    model,
    stream: call.stream === true,
    max_tokens: [call.max_output_tokens, call.max_tokens].find(isCount) ?? maxTokensDefault,
    conversation,
    metadata: readMetadata(call.metadata, 'metadata'),
    ignored: [...withoutEffect(body), ...left.names],
  };
}

/** Names of fields without effect. A reply is never stored, and a prompt is never shortened. */
function withoutEffect({ store, truncation, include }: Json): string[] {
  const isUnknown = itemsOf(include).some((each) => each !== proofsOf && each !== logprobsOf);
  const vain = { store: store === true, truncation: truncation === 'auto', include: isUnknown };
  return Object.entries(vain).flatMap(([name, isVain]) => (isVain ? [name] : []));
}

/** The words that `include` may have. */
const proofsOf = 'reasoning.encrypted_content';
const logprobsOf = 'message.output_text.logprobs';

function readSettings(call: Json): Conversation['settings'] {
  const { temperature, top_p, top_logprobs, user, include } = call;
  const { effort, summary } = objectOf(call.reasoning);
  return common.settingsOf({
    temperature,
    top_p,
    effort,
    summary,
    proofs: itemsOf(include).includes(proofsOf),
    verbosity: objectOf(call.text).verbosity,
    logprobs: wantsLogprobs(include, top_logprobs),
    top_logprobs,
    user,
  });
}

function refuseStored(body: Json): void {
  const field = stored.find((each) => isGiven(body[each]));
  if (field !== undefined)
    throw badRequest(
      field,
      `${field} needs a stored conversation, and this service stores none. Send the whole conversation in input.`,
    );
  if (isGiven(body.background) && body.background !== false)
    throw badRequest(
      'background',
      'background must be false: replies are not stored. Send the whole conversation in input, and wait for the reply or stream it.',
    );
}

function formatOf({ type, name, description, schema, strict }: Json): ReplyFormat | null {
  if (type === 'json_object') return { type: 'json' };
  if (type !== 'json_schema') return null;
  if (!isFilled(name)) throw badField('text.format.name', 'the name of the schema');
  if (!isObject(schema)) throw badField('text.format.schema', 'a JSON schema');
  return common.schemaFormat({ name, description, strict }, schema);
}

/** Chat completions give log probabilities only if they are switched on. */
function wantsLogprobs(include: unknown, top: unknown): true | null {
  const isNamed = itemsOf(include).includes(logprobsOf);
  return isNamed || (isCount(top) && top > 0) ? true : null;
}
