import type { ErrorCode } from '../../src/core/errors.ts';
import { refusalIn } from '../../src/core/chat/refusal.ts';
import { tinyPng, type SaidReply } from '../kit/fake.ts';
import { chat, streamOf, type Scenario } from './error-world.ts';

const words = 'prompt is too long: 12 tokens > 9 maximum';
const tooManyTokens: SaidReply = {
  outcome: 'rejected',
  message: words,
  refusal: refusalIn(null, words),
};

/** Faults of the call itself. */
export const inputScenarios = {
  bad_request: [
    {
      name: 'a body that is no JSON',
      call: (w) =>
        w.queue(undefined, { raw: '{"prompt":', headers: { 'content-type': 'application/json' } }),
      message: /not valid JSON/,
    },
    {
      name: 'a body that is a list',
      call: (w) => w.estimate([]),
      message: /must be a JSON object/,
    },
    {
      name: 'an Idempotency-Key with a blank',
      call: (w) => w.queue({ prompt: 'x' }, { headers: { 'idempotency-key': 'a b' } }),
      param: 'Idempotency-Key',
    },
    {
      name: 'a wait that is no number',
      call: (w) => w.call('GET', `/v1/requests/${w.queued}/status?wait=soon`),
      param: 'wait',
    },
    {
      name: 'a status that does not exist',
      call: (w) => w.call('GET', '/v1/requests?status=DONE'),
      param: 'status',
      message: /IN_QUEUE, IN_PROGRESS/,
    },
    { name: 'several completions', call: (w) => w.complete({ ...chat, n: 2 }), param: 'n' },
    {
      name: 'a range beyond the end',
      status: 416,
      param: 'range',
      headers: { 'content-range': `bytes */${tinyPng.length}` },
      call: (w) =>
        w.call('GET', `/v1/requests/${w.completed}/output/0`, { headers: { range: 'bytes=900-' } }),
    },
    { name: 'an address that is none', call: (w) => w.call('GET', '/v1/models/%zz') },
  ],
  unknown_model: [
    {
      name: 'a submit',
      call: (w) => w.call('POST', '/v1/queue/fake/none', { body: { prompt: 'x' } }),
      param: 'model_id',
      message: /"fake\/none".*GET \/v1\/models/,
    },
    {
      name: 'an estimate',
      call: (w) => w.estimate({ model_id: 'fake/Image', input: {} }),
      param: 'model_id',
    },
    {
      name: 'an estimate without a model',
      call: (w) => w.estimate({ input: {} }),
      param: 'model_id',
      message: /missing/,
    },
    { name: 'a chat', call: (w) => w.complete({ ...chat, model: 'gpt-4o' }), param: 'model' },
    {
      name: 'a chat with an image model',
      call: (w) => w.complete({ ...chat, model: 'fake/image' }),
      param: 'model',
      message: /POST \/v1\/queue\/fake\/image/,
    },
  ],
  unpriceable: [
    {
      name: 'a film of 0 seconds',
      call: (w) => w.film({ prompt: 'x', duration_seconds: 0 }),
      param: 'duration_seconds',
      message: /above 0 and at most 10/,
      details: { field: 'duration_seconds', type: 'number', exclusive_minimum: 0, maximum: 10 },
    },
    {
      name: 'five images of four',
      call: (w) => w.queue({ prompt: 'x', num_images: 5 }),
      param: 'num_images',
      details: { field: 'num_images', type: 'integer', minimum: 1, maximum: 4 },
    },
    {
      name: 'a resolution that is not offered',
      call: (w) => w.film({ prompt: 'x', resolution: '4k' }),
      param: 'resolution',
      details: { field: 'resolution', one_of: ['480p', '720p'] },
    },
    {
      name: 'tokens that are not told',
      call: (w) => w.estimate({ model_id: 'fake/chat', input: { input_tokens: 1 } }),
      param: 'output_tokens',
    },
    {
      name: 'an input that is a list',
      call: (w) => w.estimate({ model_id: 'fake/image', input: [] }),
      param: 'input',
    },
  ],
  invalid_input: [
    {
      name: 'a field that is required',
      call: (w) => w.queue({}),
      param: 'prompt',
      details: {
        errors: [{ path: '/prompt', message: 'is required' }],
        rules: [{ reason: 'field_missing' }],
      },
    },
    {
      name: 'two fields at once',
      call: (w) => w.film({ prompt: 5, resolution: '480p', duration_seconds: 5 }),
      param: 'prompt',
      details: {
        errors: [{ path: '/prompt', message: 'must be string' }],
        rules: [{ type: 'string' }],
      },
    },
    {
      name: 'a file that is not there',
      call: (w) => w.queue({ prompt: 'x', image_url: `file_${'0'.repeat(32)}` }),
      message: /but this account has no such file/,
    },
    {
      name: 'an address of a private host',
      call: (w) => w.queue({ prompt: 'x', image_url: 'http://10.0.0.1/a.png' }),
      param: 'image_url',
    },
    {
      name: 'a chat that the model refuses',
      leaves: 'a released request',
      message: /no cats here/,
      call: (w) =>
        w.acting({ chat: () => ({ outcome: 'rejected', message: 'no cats here' }) }, () =>
          w.complete(chat),
        ),
    },
  ],
  bad_webhook_url: [
    {
      name: 'a private address',
      call: (w) => w.queue({ prompt: 'x', webhook_url: 'http://169.254.169.254/' }),
      param: 'webhook_url',
      message: /public/,
    },
    {
      name: 'two that differ',
      call: (w) =>
        w.call('POST', '/v1/queue/fake/image?webhook_url=https://93.184.216.34/a', {
          body: { prompt: 'x', webhook_url: 'https://93.184.216.34/b' },
        }),
      param: 'webhook_url',
      message: /differs/,
    },
    {
      name: 'a number',
      call: (w) => w.queue({ prompt: 'x', webhook_url: 7 }),
      param: 'webhook_url',
    },
  ],
  bad_messages: [
    { name: 'no messages', call: (w) => w.complete({ model: 'fake/chat' }), param: 'messages' },
    {
      name: 'an empty list',
      call: (w) => w.complete({ ...chat, messages: [] }),
      param: 'messages',
    },
    {
      name: 'a role that does not exist',
      call: (w) => w.complete({ ...chat, messages: [{ role: 'boss', content: 'x' }] }),
      param: 'messages[0].role',
    },
  ],
  context_length_exceeded: [
    {
      name: 'more tokens than the model takes',
      leaves: 'a released request',
      call: (w) => w.acting({ chat: () => tooManyTokens }, () => w.complete(chat)),
      param: 'messages',
      message: /^This model's maximum context length is 9 tokens\. However, .* 12 tokens\. /,
      details: { reason: 'messages_too_long', limit_tokens: 9, limit: 9, given_tokens: 12 },
    },
  ],
  use_chat_completions: [
    {
      name: 'a text model in the queue',
      call: (w) => w.call('POST', '/v1/queue/fake/chat', { body: { prompt: 'x' } }),
      param: 'model_id',
      message: /POST \/v1\/chat\/completions/,
    },
  ],
  payload_too_large: [
    {
      name: 'JSON of more than 1 MiB',
      call: (w) => w.queue({ prompt: 'x'.repeat(1024 * 1024) }),
      details: { max_bytes: 1024 * 1024 },
    },
    {
      name: 'a chat of more than 10 MiB',
      call: (w) => w.complete({ ...chat, user: 'x'.repeat(10 * 1024 * 1024) }),
      details: { max_bytes: 10 * 1024 * 1024 },
    },
    {
      name: 'a file above the limit',
      call: (w) =>
        w.call('POST', '/v1/files', {
          raw: Buffer.alloc(101, 'a'),
          headers: { 'content-type': 'text/plain' },
        }),
      details: { max_bytes: 100 },
    },
    {
      name: 'a file of untold length above the limit',
      call: (w) =>
        w.call('POST', '/v1/files', {
          raw: streamOf(101),
          headers: { 'content-type': 'text/plain' },
        }),
      details: { max_bytes: 100 },
    },
  ],
  unsupported_media_type: [
    {
      name: 'JSON under another name',
      call: (w) =>
        w.queue(undefined, { raw: '{"prompt":"x"}', headers: { 'content-type': 'text/plain' } }),
      param: 'content-type',
    },
    {
      name: 'JSON in another encoding',
      call: (w) =>
        w.queue(undefined, {
          raw: '{"prompt":"x"}',
          headers: { 'content-type': 'application/json; charset=utf-16' },
        }),
      param: 'content-type',
    },
    {
      name: 'a name that is none',
      call: (w) =>
        w.queue(undefined, { raw: '{"prompt":"x"}', headers: { 'content-type': 'nonsense' } }),
      param: 'content-type',
    },
    {
      name: 'a packed body',
      call: (w) =>
        w.queue(undefined, {
          raw: '{"prompt":"x"}',
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        }),
      param: 'content-encoding',
    },
    {
      name: 'a file that is not what it says',
      call: (w) =>
        w.call('POST', '/v1/files', { raw: tinyPng, headers: { 'content-type': 'video/mp4' } }),
      param: 'content-type',
      message: /image\/png/,
    },
    {
      name: 'markup as a file',
      call: (w) =>
        w.call('POST', '/v1/files', {
          raw: '<svg xmlns="http://www.w3.org/2000/svg"/>',
          headers: { 'content-type': 'image/svg+xml' },
        }),
      param: 'content-type',
    },
  ],
} satisfies Partial<Record<ErrorCode, Scenario[]>>;
