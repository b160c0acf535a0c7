/** Traces from a caller to an upstream, and what strangers and others must not get by them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/lib/sql/sql.ts';
import { openCollector, type Collector } from '../kit/collector.ts';
import { completion } from '../kit/fake.ts';
import { until } from '../kit/until.ts';
import { withService } from '../kit/with-service.ts';

let collector: Collector;
const { service, account } = withService(async (use) => {
  collector = use(await openCollector());
  return {
    times: { tracesMs: 10 },
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=one%20two',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
    },
  };
});

let traced = 0;
/** The headers of a caller with its own trace. */
function callerSpan({ flags = '01', state = 'vendor=word' } = {}) {
  const trace = (++traced).toString(16).padStart(32, 'c');
  const span = 'b7ad6b7169203331';
  const headers = { traceparent: `00-${trace}-${span}-${flags}`, tracestate: state };
  return { trace, span, headers };
}

const prompt = 'a lighthouse that nobody may see';
const submitSpan = 'POST /v1/queue/*';
const chatSpan = 'POST /v1/chat/completions';
const chat = { model: 'fake/chat', messages: [{ role: 'user', content: prompt }] };
/** The trace that is kept with the newest request. */
async function kept(): Promise<string | null> {
  const [row] = await service.db.run<{ traceparent: string | null }>(sql`
    select traceparent from request_inputs order by request_id desc limit 1`);
  return row!.traceparent;
}

test("a job's start, polls and end continue the trace of its caller through the queue", async () => {
  const { trace, span, headers } = callerSpan();
  const submitted = await account.post('/v1/queue/fake/image', { prompt }, { headers });
  const { request_id } = submitted.body;
  await service.work();
  await service.wakeAll();
  await service.work();
  const door = await collector.span(trace, submitSpan);
  assert.deepEqual([door.parentSpanId, door.kind, door.state], [span, 2, 'vendor=word']);
  assert.equal(await kept(), `00-${trace}-${door.spanId}-01`);
  const start = await collector.span(trace, 'job start');
  assert.equal(start.parentSpanId, door.spanId);
  const call = await collector.span(trace, 'generate_content image');
  assert.deepEqual([call.parentSpanId, call.kind], [start.spanId, 3]);
  assert.equal(call.attributes['gen_ai.provider.name'], 'fake');
  assert.equal(call.attributes['farebox.outcome'], 'accepted');
  const poll = await collector.span(trace, 'job poll');
  assert.equal(poll.attributes['farebox.transition'], 'COMPLETED');
  for (const each of [door, start, call, poll])
    assert.equal(each.attributes['farebox.request_id'], request_id, each.name);
  assert.equal(door.attributes['farebox.account_id'], account.account_id);
  assert.equal(door.attributes['http.response.status_code'], 202);
});

test('polls of a job that still runs leave no spans', async () => {
  const { trace, headers } = callerSpan();
  service.fake.behave.poll = () => ({ state: 'running', poll_after_ms: 0 });
  await account.post('/v1/queue/fake/image', { prompt }, { headers });
  for (let rounds = 0; rounds < 4; rounds++) {
    await service.wakeAll();
    await service.app.worker!.runOnce();
  }
  assert.ok([...service.fake.jobs.values()].at(-1)!.polls > 1);
  service.fake.behave.poll = () => ({ state: 'failed', code: 'upstream_failed', message: prompt });
  await service.wakeAll();
  await service.work();
  service.fake.behave = {};
  const { status, attributes } = await collector.span(trace, 'job poll');
  assert.deepEqual([status, attributes['error.type']], [2, 'upstream_failed']);
  const polls = collector.spans.filter(
    ({ traceId, name }) => traceId === trace && name === 'job poll',
  );
  assert.equal(polls.length, 1);
});

test('a chat, whole or streamed, has the span of its upstream with the counted tokens', async () => {
  for (const stream of [false, true]) {
    const { trace, headers } = callerSpan();
    service.fake.behave.chat = () =>
      stream
        ? { outcome: 'stream', chunks: chunks() }
        : {
            outcome: 'reply',
            reply: completion('hello', { prompt_tokens: 5, completion_tokens: 2 }),
          };
    const reply = await account.post('/v1/chat/completions', { ...chat, stream }, { headers });
    assert.equal(reply.status, 200, reply.text);
    const door = await collector.span(trace, chatSpan);
    const call = await collector.span(trace, 'chat chat');
    assert.deepEqual([call.parentSpanId, call.status ?? 0], [door.spanId, 0]);
    assert.equal(Number(call.attributes['gen_ai.usage.input_tokens']), 5);
    assert.equal(Number(call.attributes['gen_ai.usage.output_tokens']), 2);
    assert.equal(await kept(), null, 'a chat needs no place in a queue');
  }
  service.fake.behave = {};
});

function chunks() {
  const head = { id: 'up-1', object: 'chat.completion.chunk', created: 1, model: 'theirs' };
  const choice = (delta: object, finish_reason: string | null) => [
    { index: 0, delta, finish_reason },
  ];
  return [
    { ...head, choices: choice({ role: 'assistant', content: 'hello' }, null) },
    { ...head, choices: choice({}, 'stop') },
    { ...head, choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } },
  ];
}

test('a refused call has its error, and a failed chat why its upstream failed', async () => {
  const refused = callerSpan();
  await account.post('/v1/queue/no/such/model', { prompt }, { headers: refused.headers });
  const door = await collector.span(refused.trace, submitSpan);
  assert.equal(door.attributes['farebox.error_code'], 'unknown_model');
  assert.equal(door.status ?? 0, 0, 'the fault is not ours');
  const failed = callerSpan();
  service.fake.behave.chat = () => ({ outcome: 'not_accepted', why: 'busy', message: prompt });
  await account.post('/v1/chat/completions', chat, { headers: failed.headers });
  service.fake.behave = {};
  const call = await collector.span(failed.trace, 'chat chat');
  assert.deepEqual([call.status, call.attributes['error.type']], [2, 'busy']);
});

test('log lines have the ids of the active span, and no others', async () => {
  const { trace, headers } = callerSpan();
  await account.post('/v1/queue/fake/image', { prompt }, { headers });
  const door = await collector.span(trace, submitSpan);
  const lines = service.log.map((line) => JSON.parse(line));
  const own = lines.filter((line) => line.msg === 'call' && line.trace_id === trace);
  assert.deepEqual(
    own.map((line) => line.span_id),
    [door.spanId],
  );
  const outside = lines.filter((line) => line.msg === 'started');
  assert.equal(outside.length > 0, true);
  assert.deepEqual(
    outside.filter((line) => 'trace_id' in line || 'span_id' in line),
    [],
  );
});

test('invalid and long contexts of callers begin a trace of our own, and nothing of them is kept', async () => {
  const long = 'x'.repeat(6_000);
  const bad = [
    { traceparent: long },
    { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` },
    { traceparent: `00-${'A'.repeat(32)}-b7ad6b7169203331-01` },
    { traceparent: `00-${'d'.repeat(32)}-b7ad6b7169203331-01-${long}` },
  ];
  for (const headers of bad) {
    const before = collector.spans.length;
    await account.post('/v1/queue/fake/image', { prompt }, { headers });
    const door = await until('the span', () =>
      collector.spans.slice(before).find(({ name }) => name === submitSpan),
    );
    assert.equal(door.parentSpanId ?? '', '');
    assert.equal(await kept(), `00-${door.traceId}-${door.spanId}-01`);
  }
  const { trace, headers } = callerSpan({ state: `vendor=${long}` });
  await account.post('/v1/queue/fake/image', { prompt }, { headers });
  assert.equal((await collector.span(trace, submitSpan)).state ?? '', '');
  assert.ok(collector.bodies.every((body) => !body.includes('xxxxxxxx')));
});

test('by default the wish of a caller not to be recorded is obeyed, with no trace in the row', async () => {
  const { trace, headers } = callerSpan({ flags: '00' });
  await account.post('/v1/queue/fake/image', { prompt }, { headers });
  assert.equal(await kept(), null);
  const after = callerSpan();
  await account.post('/v1/queue/fake/image', { prompt }, { headers: after.headers });
  await service.work();
  await collector.span(after.trace, 'job start');
  assert.deepEqual(
    collector.spans.filter(({ traceId }) => traceId === trace),
    [],
  );
});

test('with a sampler of our own, neither flag nor trace id of a caller decides', async () => {
  const { base } = await service.another({
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0',
  });
  const never = callerSpan();
  await account.post('/v1/queue/fake/image', { prompt }, { headers: never.headers, base });
  assert.equal(await kept(), null);
  const all = await service.another({ OTEL_TRACES_SAMPLER: 'always_on' });
  const always = callerSpan({ flags: '00' });
  const { headers } = always;
  await account.post('/v1/queue/fake/image', { prompt }, { headers, base: all.base });
  await collector.span(always.trace, submitSpan);
  assert.deepEqual(
    collector.spans.filter(({ traceId }) => traceId === never.trace),
    [],
  );
});

test('spans have no keys, prompts or e-mail addresses, and name the process as set', async () => {
  assert.ok(collector.bodies.length > 0);
  for (const body of collector.bodies)
    for (const secret of [account.key, account.email, 'lighthouse', 'hello'])
      assert.ok(!body.includes(secret), secret);
  assert.equal(collector.resource['service.name'], 'farebox');
  assert.equal(collector.resource['deployment.environment.name'], 'test');
  assert.equal(collector.headers[0]!['x-team'], 'one two');
});

test('health checks and metrics leave no spans', async () => {
  const { trace, headers } = callerSpan();
  await service.call('GET', '/livez', { headers });
  await service.call('GET', '/metrics', { headers });
  const last = callerSpan();
  await account.get('/v1/balance', { headers: last.headers });
  await collector.span(last.trace, 'GET /v1/balance');
  assert.deepEqual(
    collector.spans.filter(({ traceId }) => traceId === trace),
    [],
  );
});

test('a collector that never answers neither fails calls nor holds up a stop', async () => {
  const silent = await openCollector(() => false);
  try {
    const { app, base } = await service.another({ OTEL_EXPORTER_OTLP_ENDPOINT: silent.url });
    for (let calls = 0; calls < 20; calls++)
      assert.equal((await account.post('/v1/queue/fake/image', { prompt }, { base })).status, 202);
    await until('spans are sent', () => silent.bodies.length > 0);
    assert.equal((await account.get('/v1/balance', { base })).status, 200);
    await app.stop(2_000);
    const told = service.log.filter((line) => line.includes('traces could not be sent'));
    assert.equal(told.length, 1, 'the call was broken off, and told once');
    assert.equal(silent.spans.length, 0);
  } finally {
    silent.close();
  }
});
