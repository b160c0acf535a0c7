import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FareboxError } from './error.ts';
import { Farebox } from './farebox.ts';

const id = '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10';
const chunk = {
  id: `chatcmpl-${id}`,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'Hel' } }],
};

/** The error of reading a stream that sends one chunk and then ends this way. */
async function errorOf(
  end: (controller: ReadableStreamDefaultController) => void,
): Promise<FareboxError> {
  const bytes = new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`);
  const stop = new AbortController();
  const farebox = new Farebox({
    apiKey: 'k',
    baseUrl: 'http://localhost/v1',
    fetch: async (_url, init) => {
      const body = new ReadableStream({
        start: (controller) => {
          init!.signal!.addEventListener('abort', () => controller.error(init!.signal!.reason));
          controller.enqueue(bytes);
        },
        pull: (controller) => (stop.signal.aborted ? undefined : end(controller)),
      });
      return new Response(body);
    },
  });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const input = { model: 'm', messages, stream: true as const };
  let text = '';
  const read = async () => {
    const call = { signal: stop.signal, idempotencyKey: 'mine' };
    for await (const { choices } of await farebox.chat.create(input, call)) {
      text += choices[0]!.delta.content;
      if (end === nothing) stop.abort();
    }
  };
  const error = await read().then(
    () => assert.fail('it was no fault'),
    (thrown: unknown) => thrown,
  );
  assert.equal(text, 'Hel');
  assert.ok(error instanceof FareboxError);
  return error;
}

const nothing = () => {};

test('a stream that does not come to its end names its request and the key to have the rest', async () => {
  const ends = {
    connection_error: [
      (controller: ReadableStreamDefaultController) => controller.close(),
      (controller: ReadableStreamDefaultController) => controller.error(new TypeError('gone')),
    ],
    aborted: [nothing],
  };
  for (const [code, how] of Object.entries(ends))
    for (const end of how) {
      const error = await errorOf(end);
      assert.equal(error.code, code);
      assert.deepEqual([error.idempotencyKey, error.requestId], ['mine', id]);
      assert.match(error.message, /With idempotencyKey "mine" the same call repeats what was/);
      assert.equal(error.mayHaveBeenAccepted, true);
    }
});

test('a stream that the service breaks off leaves the word to the service', async () => {
  const error = { code: 'submit_failed', message: 'The model broke off.', type: 'upstream_error' };
  const told = await errorOf((controller) => {
    controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify({ error })}\n\n`));
    controller.close();
  });
  assert.deepEqual([told.code, told.message], [error.code, error.message]);
  assert.deepEqual([told.idempotencyKey, told.requestId], ['mine', id]);
});
