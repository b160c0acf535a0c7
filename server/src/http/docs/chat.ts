import { idempotencyKey } from './queue.ts';
import { one, type RouteDocs } from './route-docs.ts';

/** POST /chat/completions */

const exampleUsage = {
  prompt_tokens: 14,
  completion_tokens: 7,
  total_tokens: 21,
  cost_usd_micro: '5',
};

const identity = {
  id: 'chatcmpl-0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10',
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
  "The same request and reply as OpenAI's chat completions, streamed or not; stock clients work " +
    'with this base address and `Bearer <API_KEY>`. Added: `usage.cost_usd_micro` and the header ' +
    '`x-charge-usd-micro` (not on streams).',
  'Before the call the most that it can cost is reserved: the prompt, bounded from above, and ' +
    '`max_tokens`. The charge is what the model reports, never more. If the caller leaves, a model ' +
    'with `on_disconnect: finish` makes the reply to its end, and all of it is charged; one with ' +
    '`stop` is stopped. With an `Idempotency-Key` a reply that is not streamed is always made and ' +
    'kept: a repeat of the call gets it without a second charge.',
  'A stream is server-sent events: `data:` with a chunk each, a chunk with `usage` and no ' +
    'choices where `stream_options.include_usage` asks, then `data: [DONE]`. A line `: ' +
    'keep-alive` comes every 15 seconds. A fault in the middle is a last chunk with a top-level ' +
    '`error`, then `[DONE]`; its `details.reason` is `model_broke_off`, `server_stopped` or ' +
    '`time_was_up`. What the model reported or delivered is charged, nothing if nothing was; at ' +
    '`time_was_up` a model with `on_disconnect: finish` is charged as if the caller had left. Where ' +
    '`include_usage` asks, the chunk with `usage` comes before the `error`.',
  'With an `Idempotency-Key` the reply is kept and repeated (a stream as a stream of its whole ' +
    'text). While the first call under a key runs, a second one waits 10 seconds for it, then ' +
    'gets 409 with `Retry-After: 1`. A call that failed frees its key. A stream that broke off, ' +
    'or whose caller left in the middle, is repeated as far as it came, with an `error` chunk ' +
    'whose `details.reason` is `first_call_broke_off`, and no second charge; for a new reply use ' +
    'a new key.',
  'Parts of a message name media as in the queue: `image_url.url` is a public http(s) address, a ' +
    'base64 `data:` address or the `file_id` of an upload of the account, `file.file_id` such a ' +
    '`file_id`; at most 64 in one call, and 20 MiB of uploads together. Models of outside services ' +
    'get them as data. A signed link to an output of the account counts as an upload.',
].join('\n\n');

export const chat: RouteDocs = {
  operationId: 'chatCompletions',
  tag: 'Chat',
  summary: 'Call a text model',
  description,
  headers: [idempotencyKey],
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
        'The completion; or, with `stream: true`, the chunks: the schema of `text/event-stream` ' +
        'is that of the `data` of each event before `[DONE]`.',
      headers: ['Charge?', 'Replayed?', 'CacheControl?', 'AccelBuffering?'],
      examples: one(exampleCompletion),
      events: { chunk: { value: exampleChunk } },
    },
  },
  errors: [
    'bad_request',
    'unknown_model',
    'forbidden',
    'bad_messages',
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
