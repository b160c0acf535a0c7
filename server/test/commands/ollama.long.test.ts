import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { serve, type Answer, type Call, type ServedFake } from '../upstreams/fakes/kit.ts';
import { call, placeFor } from './cli.ts';

/** One variable adds the models of an Ollama server beside those of the sandbox. */

const base = {
  id: 'chatcmpl-114',
  created: 1_700_000_000,
  model: 'llama3.2',
  system_fingerprint: 'fp_ollama',
};
const usage = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };

/** Answers like Ollama: no key, no cached tokens, usage in a last chunk if it is asked for. */
function ollama({ method, path, ...asked }: Call): Answer {
  if (method === 'GET' && path === '/v1/models')
    return {
      json: { object: 'list', data: [{ id: 'llama3.2', object: 'model', owned_by: 'library' }] },
    };
  if (method !== 'POST' || path !== '/v1/chat/completions')
    return { status: 404, body: '404 page not found' };
  const { model, stream } = asked.json<{ model: string; stream?: boolean }>();
  if (model !== 'llama3.2')
    return {
      status: 404,
      json: {
        error: {
          message: `model '${model}' not found`,
          type: 'not_found_error',
          param: null,
          code: null,
        },
      },
    };
  if (!stream) {
    const message = { role: 'assistant', content: 'Hello from the next room.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    return { json: { ...base, object: 'chat.completion', choices, usage } };
  }
  const chunk = (choices: unknown[], more = {}) =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
  const delta = (text: string, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta: { role: 'assistant', content: text }, finish_reason }]);
  const body = `${delta('Hello ')}${delta('again.')}${delta('', 'stop')}${chunk([], { usage })}data: [DONE]\n\n`;
  return { headers: { 'content-type': 'text/event-stream' }, body };
}

let server: ServedFake;
before(async () => void (server = await serve(ollama)));
after(() => server.close());

test('with OLLAMA_URL alone its models are listed, answer and are charged', async (t) => {
  const place = placeFor(t, { FAREBOX_CATALOG: '', OLLAMA_URL: server.url });
  const { said, base: at, end } = await place.start(['trial']);
  const { body } = await call(at, 'GET', '/v1/models', null);
  const ids: string[] = body.data.map(({ id }: { id: string }) => id);
  assert.ok(ids.includes('ollama/llama3.2') && ids.includes('sandbox/chat'), ids.join());
  assert.ok(
    ids.every((id) => /^(ollama|sandbox)/.test(id)),
    'nothing whose key nobody gave',
  );

  const chat = { model: 'ollama/llama3.2', messages: [{ role: 'user', content: 'hi' }] };
  const reply = await call(at, 'POST', '/v1/chat/completions', said.key, chat);
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  assert.equal(reply.body.choices[0].message.content, 'Hello from the next room.');
  // 0.05 USD a million in, 0.10 out.
  assert.equal(reply.body.usage.cost_usd_micro, '100');
  const streamed = await fetch(`${at}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Key ${said.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...chat, stream: true }),
  });
  const text = await streamed.text();
  assert.match(text, /Hello .*again\./s);
  assert.match(text, /data: \[DONE\]\n\n$/);
  const { json } = await place.run(['account', 'show', said.email, '--json']);
  assert.deepEqual([json.available_usd_micro, json.reserved_usd_micro], ['99999800', '0']);
  assert.ok(server.calls.every(({ headers }) => headers.authorization === undefined));
  assert.deepEqual((await place.run(['audit', '--json'])).json.violations, []);
  await end('SIGTERM');
});
