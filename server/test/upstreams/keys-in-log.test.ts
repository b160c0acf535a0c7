import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { redact } from '../../src/lib/log.ts';
import { startService, type Service } from '../kit/service.ts';

let service: Service | undefined;
after(() => service?.stop());

test('keys and secrets of the upstreams that the catalog defines are in no line of the log', async () => {
  const key = 'a-key-that-looks-like-nothing';
  const secret = 'nor-does-this-secret';
  const line = `it said ${key} and ${secret}`;
  assert.equal(redact(line), line, 'nobody could know before');
  service = await startService({
    catalog: `
upstream:
  name: bench
  adapter: openai
  url: http://127.0.0.1:9
  key_from: BENCH_KEY
  secret_from: BENCH_SECRET
models:
  - id: bench/chat
    kind: text
    task: chat
    name: Chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    context_tokens: 1000
    max_output_tokens: 100
    upstream_model: m
`,
    env: { BENCH_KEY: key, BENCH_SECRET: secret },
  });
  assert.equal(redact(line), 'it said [redacted] and [redacted]');
});
