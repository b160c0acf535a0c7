import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { FareboxError } from './error.ts';
import { Farebox } from './farebox.ts';
import type { Status } from './types.ts';

const id = '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10';
const hourMs = 60 * 60_000;

/** A client that gets these answers, one per call; after the last, connections are refused. */
function against(...answers: (() => Response)[]): Farebox {
  const answer = async () => {
    const next = answers.shift();
    if (!next) throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });
    return next();
  };
  return new Farebox({ apiKey: 'k', baseUrl: 'http://localhost/v1', fetch: answer });
}

/** A stream that sends these statuses, runs `beforeItBreaks`, and breaks. */
function stream(statuses: string[], beforeItBreaks = () => {}): () => Response {
  const events = statuses.map(
    (status) => `event: status\ndata: ${JSON.stringify({ request_id: id, status })}\n\n`,
  );
  return () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          const event = events.shift();
          if (event !== undefined) return controller.enqueue(new TextEncoder().encode(event));
          beforeItBreaks();
          controller.error(new TypeError('terminated'));
        },
      }),
    );
}

async function follow(farebox: Farebox): Promise<string[]> {
  const seen: Status[] = [];
  for await (const status of farebox.watch(id)) seen.push(status);
  return seen.map(({ status }) => status);
}

test('a job of hours outlives connections that break at the end of each', async () => {
  mock.timers.enable({ apis: ['Date'] });
  const later = () => mock.timers.tick(3 * hourMs);
  const quiet = [stream(['IN_QUEUE', 'IN_PROGRESS'], later), stream(['IN_PROGRESS'], later)];
  const seen = await follow(against(...quiet, stream(['IN_PROGRESS', 'COMPLETED'])));
  mock.timers.reset();
  assert.deepEqual(seen, ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']);
});

test('a service that stays away is given up, and the request is named', async () => {
  mock.timers.enable({ apis: ['Date'] });
  const gone = against(stream(['IN_PROGRESS']), () => {
    mock.timers.tick(hourMs);
    throw new TypeError('fetch failed');
  });
  const error = await follow(gone).catch((thrown: unknown) => thrown);
  mock.timers.reset();
  assert.ok(error instanceof FareboxError);
  assert.deepEqual([error.code, error.requestId], ['connection_error', id]);
});

test('each final status ends it, and an event it does not know is passed by', async () => {
  for (const status of ['COMPLETED', 'FAILED', 'CANCELLED'])
    assert.deepEqual(await follow(against(stream([status]))), [status]);
  const other = () =>
    new Response(
      `event: news\ndata: x\n\nevent: status\ndata: {"request_id":"${id}","status":"FAILED"}\n\n`,
    );
  assert.deepEqual(await follow(against(other)), ['FAILED']);
});

test('an answer that will stay as it is, is thrown at once', async () => {
  const body = { error: { code: 'not_found', message: 'Nothing here.', type: 'x' } };
  const error = await follow(against(() => Response.json(body, { status: 404 }))).catch(
    (thrown: unknown) => thrown,
  );
  assert.equal((error as FareboxError).code, 'not_found');
});
