import { callerNumber, idempotencyKey, metadata } from './queue.ts';
import { exampleId } from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** POST /chat/completions */

const exampleUsage = {
  prompt_tokens: 14,
  completion_tokens: 7,
  total_tokens: 21,
  cost_usd_micro: '5',
};

const identity = {
  id: `chatcmpl-${exampleId}`,
  created: 1_772_366_400,
  model: 'sandbox/chat',
};

const exampleCompletion = {
  ...identity,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Hello. Hallo. Bonjour.', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: exampleUsage,
};

const exampleChunk = {
  ...identity,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'Hello.' }, logprobs: null, finish_reason: null }],
};

const description = [
  "The same request and reply as OpenAI's chat completions, streamed or not; stock " +
    'clients work with this base URL and `Bearer <API_KEY>`. Farebox adds ' +
    '`usage.cost_usd_micro` and the header `x-charge-usd-micro` (not on streams).',
  'The call first reserves the most that it can cost: an upper bound of the prompt, and ' +
    '`max_tokens`. The charge follows the usage that the model reports and never exceeds ' +
    'the reservation. If the caller disconnects, a model with `on_disconnect: finish` ' +
    'completes the reply and all of it is charged; a model with `stop` is stopped. With an ' +
    '`Idempotency-Key`, a reply that is not streamed is always completed and kept: a ' +
    'repeat of the call gets it without a second charge.',
  'A stream consists of server-sent events: one `data:` for each chunk, a chunk with ' +
    '`usage` and without choices if `stream_options.include_usage` is set, then `data: ' +
    '[DONE]`. A line `: keep-alive` is sent every 15 seconds. If the reply fails in the ' +
    'middle, the last chunk before `[DONE]` has a top-level `error`; its `details.reason` is ' +
    '`model_broke_off`, `server_stopped` or `time_was_up`. The charge then covers what the ' +
    'model reported or delivered, and is 0 if there was nothing. At `time_was_up`, a model ' +
    'with `on_disconnect: finish` is charged as if the caller had disconnected. With ' +
    '`include_usage`, the chunk with `usage` comes before the `error`.',
  'With an `Idempotency-Key`, the reply is kept and repeated (a stream as one stream of ' +
    'the whole text). While the first call under a key runs, a second one waits 10 seconds ' +
    'for it, then gets 409 with `Retry-After: 1`. A failed call frees its key. A stream that ' +
    'broke off, or whose caller disconnected, is repeated up to where it ended, followed by ' +
    'an `error` chunk whose `details.reason` is `first_call_broke_off`, and is not charged ' +
    'again; for a new reply use a new key.',
  'Parts of a message name media in the same ways as an input of the queue: `image_url.url` is a public http(s) ' +
    "URL, a `data:` URL or the `file_id` of one of the account's uploads; " +
    '`file.file_id` is such a `file_id`. One call has at most 64 media, with at most 20 ' +
    'MiB of uploads in all. Models of outside services receive the bytes of the media. A signed ' +
    "link to one of the account's outputs counts as an upload.",
].join('\n\n');

export const chat: RouteDocs = {
  operationId: 'chatCompletions',
  tag: 'Chat',
  summary: 'Call a text model',
  description,
  headers: [idempotencyKey, metadata, callerNumber],
  body: {
    description: 'At most 10 MiB of JSON.',
    examples: one({
      model: 'sandbox/chat',
      messages: [{ role: 'user', content: 'Say hello in three languages.' }],
      max_tokens: 100,
    }),
  },
  replies: {
    200: {
      description:
        'The completion. With `stream: true`, chunks as server-sent events: the schema under ' +
        '`text/event-stream` describes the `data` of each event before `[DONE]`.',
      headers: ['Charge?', 'Ignored?', 'Replayed?', 'CacheControl?', 'AccelBuffering?'],
      examples: one(exampleCompletion),
      events: { chunk: { value: exampleChunk } },
    },
  },
  errors: [
    'bad_request',
    'unknown_model',
    'forbidden',
    'bad_messages',
    'context_length_exceeded',
    'invalid_input',
    'insufficient_balance',
    'key_limit_reached',
    'idempotency_conflict',
    'payload_too_large',
    'unsupported_media_type',
    'submit_failed',
    'capacity_unavailable',
  ],
  errorHeaders: { 409: ['RetryAfter?'] },
};
