import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openTracer } from './open-tracer.ts';
import { FetchError } from './outbound/fetch.ts';

const start = { kind: 'internal', attributes: {} } as const;

/** A receiver that takes nothing until `open` is called, and what it was sent. */
function receiver() {
  const opened = Promise.withResolvers<void>();
  const sent: { spans: number; bytes: number }[] = [];
  const errors: unknown[] = [];
  const options = {
    url: 'http://127.0.0.1:1/v1/traces',
    headers: {},
    resource: {},
    sampler: 'always_on' as const,
    ratio: 1,
    gatherMs: 1_000,
    fetch: {
      async request({ body }: { body?: unknown }) {
        const { resourceSpans } = JSON.parse(Buffer.from(body as Uint8Array).toString('utf8'));
        const spans = resourceSpans[0].scopeSpans[0].spans.length;
        sent.push({ spans, bytes: (body as Uint8Array).length });
        await opened.promise;
        return { status: 200, headers: {}, body: new Uint8Array(), truncated: false };
      },
    },
    onError: (error: unknown) => void errors.push(error),
  };
  return { options, sent, errors, open: opened.resolve };
}

test('while nobody takes spans, a bounded number waits and the rest is dropped', async () => {
  const { options, sent, open } = receiver();
  const tracer = await openTracer(options);
  for (let count = 0; count < 20_000; count++) tracer.begin('work', start).end();
  open();
  await tracer.close(60_000);
  const all = sent.reduce((sum, { spans }) => sum + spans, 0);
  assert.ok(all >= 4_096 && all <= 4_096 + 512, String(all));
  assert.ok(sent.every(({ bytes }) => bytes < 512 * 1024));
});

test('a close does not wait for a receiver that never answers', async () => {
  const { options, sent } = receiver();
  const tracer = await openTracer(options);
  tracer.begin('work', start).end();
  await tracer.close(1);
  assert.equal(sent.length, 1);
});

test('a batch that cannot be sent is told, and later ones are sent', async () => {
  const { options, sent, errors, open } = receiver();
  open();
  let isAway = true;
  const { request } = options.fetch;
  const fetch = {
    request: async (call: object) => {
      if (isAway) throw new FetchError('refused' as never, 'away');
      return request(call);
    },
  };
  const tracer = await openTracer({ ...options, fetch });
  for (let count = 0; count < 512; count++) tracer.begin('lost', start).end();
  while (errors.length === 0) await new Promise(setImmediate);
  isAway = false;
  tracer.begin('later', start).end();
  await tracer.close(60_000);
  assert.deepEqual([sent.map(({ spans }) => spans), errors.length], [[1], 1]);
});

test('a sampler with a ratio records about its part, whatever a caller sends', async () => {
  for (const flags of ['00', '01']) {
    const { options } = receiver();
    const tracer = await openTracer({ ...options, sampler: 'traceidratio', ratio: 0.5 });
    const from = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-${flags}` };
    const recorded = Array.from({ length: 2_000 }, () =>
      tracer.begin('call', { ...start, parent: { from } }).recorded(),
    ).filter((each) => each !== null);
    // Six standard deviations, so that one run in a thousand million is outside.
    assert.ok(Math.abs(recorded.length - 1_000) < 135, String(recorded.length));
    const own = { own: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` };
    assert.notEqual(tracer.begin('step', { ...start, parent: own }).recorded(), null);
  }
});

test('a service without traces loads none of it', () => {
  const root = join(import.meta.dirname, '..');
  const files = globSync('**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const loads = (what: RegExp) =>
    files.filter((file) => what.test(readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(loads(/@opentelemetry\//), [join('lib', 'open-tracer.ts')]);
  assert.deepEqual(loads(/^(?!import type).* from '@opentelemetry\//m), []);
  assert.deepEqual(loads(/\bimport\('\.\/lib\/open-tracer\.ts'\)/), ['traces.ts']);
  assert.deepEqual(loads(/ from '.*open-tracer\.ts'/), []);
});
