/** Upstreams get the request's id with its content, and the caller's trace only if it is set. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { requestOfNumber } from '../../src/core/request/call-number.ts';
import { createWire } from '../../src/upstreams/openai/wire.ts';
import { openCollector, type Collector } from '../kit/collector.ts';
import { completion } from '../kit/fake.ts';
import { withService } from '../kit/with-service.ts';

const calls: { path: string; headers: IncomingHttpHeaders }[] = [];
const model = createServer((req, res) => {
  calls.push({ path: req.url!, headers: req.headers });
  const image = { data: [{ b64_json: Buffer.from('GIF89a\x01\x00\x01\x00').toString('base64') }] };
  const reply = req.url!.endsWith('/chat/completions') ? completion('hello', null) : image;
  let body = '';
  req.on('data', (piece) => (body += piece));
  req.on('end', () => {
    const status = body.includes('"model":"full"') ? 503 : 200;
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  });
});

let collector: Collector;
const { service, account } = withService(async (use) => {
  collector = use(await openCollector());
  await once(model.listen(0, '127.0.0.1'), 'listening');
  use({ close: () => (model.close(), model.closeAllConnections()) });
  return {
    times: { tracesMs: 10 },
    catalog: `
upstream: { name: near, adapter: openai, url: "http://127.0.0.1:${(model.address() as AddressInfo).port}/v1" }
models:
  - id: near/chat
    kind: text
    task: chat
    name: Chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    context_tokens: 1000
    max_output_tokens: 100
    upstream_model: m
  - id: near/two
    kind: text
    task: chat
    name: Two
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    context_tokens: 1000
    max_output_tokens: 100
    upstreams: [{ upstream: near, model: full }, { upstream: near, model: m }]
  - id: near/image
    kind: image
    task: text-to-image
    name: Image
    price: { unit: image, usd: "0.01" }
    max: 1
    max_unit: images
    upstream_model: i
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat }
`,
  };
});

const parent = 'b7ad6b7169203331';
const headersIn = (trace: string) => ({
  traceparent: `00-${trace}-${parent}-01`,
  tracestate: 'vendor=word',
});
const chat = { model: 'near/chat', messages: [{ role: 'user', content: 'hi' }] };
const traces = () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });

/** The headers of the only call that the upstream gets meanwhile. */
async function called(work: () => Promise<unknown>): Promise<IncomingHttpHeaders> {
  calls.length = 0;
  await work();
  assert.equal(calls.length, 1);
  return calls[0]!.headers;
}

async function newest(): Promise<string> {
  return (await account.get('/v1/requests?limit=1')).body.data[0].request_id;
}

test('chats and images bring the id of their request, and no trace, unless it is set', async () => {
  const headers = headersIn('c'.repeat(32));
  const traced = await service.another(traces());
  for (const base of [service.base, traced.base]) {
    const sent = await called(() => account.post('/v1/chat/completions', chat, { headers, base }));
    assert.equal(sent['x-request-id'], await newest());
    assert.deepEqual([sent.traceparent, sent.tracestate], [undefined, undefined]);
  }
  const sent = await called(async () => {
    const { body } = await account.post('/v1/queue/near/image', { prompt: 'a' }, { headers });
    assert.ok(body.request_id);
    await service.work();
  });
  assert.equal(sent['x-request-id'], await newest());
  assert.equal(sent.traceparent, undefined);
});

test('each try of a chat has a number of its own, which leads to the request', async () => {
  calls.length = 0;
  const reply = await account.post('/v1/chat/completions', { ...chat, model: 'near/two' });
  assert.equal(reply.status, 200);
  const id = await newest();
  const sent = calls.map(({ headers }) => String(headers['x-request-id']));
  assert.deepEqual(sent, [id, `${id}-2`]);
  assert.equal(requestOfNumber(sent[1]!), id);
});

test('an upstream that is named gets the trace, below the span of its call', async () => {
  const trace = 'd'.repeat(32);
  const headers = headersIn(trace);
  const { app, base } = await service.another({
    ...traces(),
    FAREBOX_TRACE_UPSTREAMS: 'other, near',
  });
  const sent = await called(() => account.post('/v1/chat/completions', chat, { headers, base }));
  const span = await collector.span(trace, 'chat m');
  const door = await collector.span(trace, 'POST /v1/chat/completions');
  assert.equal(sent.traceparent, `00-${trace}-${span.spanId}-01`);
  assert.equal(sent.tracestate, 'vendor=word');
  assert.equal(span.attributes['http.response.status_code'], 200);
  assert.notEqual(span.spanId, door.spanId);
  const job = await called(async () => {
    await account.post('/v1/queue/near/image', { prompt: 'a' }, { headers, base });
    while ((await app.worker!.runOnce()) > 0);
  });
  const start = await collector.span(trace, 'generate_content i');
  assert.equal(job.traceparent, `00-${trace}-${start.spanId}-01`);
  assert.equal(job.tracestate, undefined, 'it is not kept in the queue');
});

test('OpenAI itself knows the id by another header', () => {
  const headersAt = (url: string) => {
    const settings = {
      name: 'a',
      url,
      key: 'k',
      keys: [],
      secret: null,
      concurrency: 1,
      options: {},
    };
    return createWire(settings, {} as never, '/v1').idOf('id');
  };
  assert.deepEqual(headersAt('https://api.openai.com/v1'), { 'x-client-request-id': 'id' });
  assert.deepEqual(headersAt('https://api.notopenai.com/v1'), { 'x-request-id': 'id' });
});
