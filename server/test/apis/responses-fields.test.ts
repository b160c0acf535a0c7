import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responsesWriter } from '../../src/core/apis/responses/write-reply.ts';
import type { FinishReason, ReplyEvent } from '../../src/core/chat/reply.ts';
import { fromJson, objectOf, type Json } from '../../src/lib/json.ts';

/** Every response has every field that a schema requires, in each event of a stream too. */

/** The fields of OpenAI's and of the Open Responses schema. */
const required =
  'id object created_at completed_at status model ' +
  'output error incomplete_details instructions previous_response_id tools ' +
  'tool_choice truncation parallel_tool_calls text top_p presence_penalty ' +
  'frequency_penalty top_logprobs temperature reasoning usage max_output_tokens ' +
  'max_tool_calls store background service_tier metadata safety_identifier ' +
  'prompt_cache_key user';

const defaults = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  truncation: 'disabled',
  store: false,
  background: false,
  service_tier: 'default',
  metadata: {},
  text: { format: { type: 'text' } },
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
};

const body = { model: 'm', input: 'hi' };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cost_usd_micro: '1' };

function writerOf(call: Json, stream: boolean) {
  return responsesWriter({
    request_id: '1',
    created: 5,
    now: () => 9,
    model: 'm',
    body: call,
    stream,
  });
}

function allOf(call: Json, reason: FinishReason): Json[] {
  const pieces: ReplyEvent[] = [
    { type: 'text', text: 'Hello.', logprobs: null },
    { type: 'end', reason, stop: null },
  ];
  const told = writerOf(call, true);
  const events = [
    ...told.begin(() => ({})),
    ...told.alive(),
    ...pieces.flatMap((each) => told.add(each)),
    ...told.end(usage),
  ];
  const whole = writerOf(call, false);
  pieces.forEach(whole.add);
  const broken = writerOf(call, true);
  broken.begin(() => ({}));
  const error = {
    code: 'submit_failed',
    message: 'x',
    type: 'upstream_error',
    param: null,
    request_id: 'r',
  };
  const streamed = [...events, ...broken.fail(error, null)]
    .map(({ data }) => objectOf(fromJson<Json>(data).response))
    .filter((each) => 'id' in each);
  return [whole.whole(usage), ...streamed];
}

for (const reason of ['stop', 'tools', 'length', 'filter'] as const)
  test(`a reply that ended with ${reason} is whole`, () => {
    const all = allOf(body, reason);
    assert.ok(all.length >= 5);
    for (const response of all) {
      const missing = required.split(' ').filter((field) => response[field] === undefined);
      assert.deepEqual(missing, [], String(response.status));
      assert.partialDeepStrictEqual(response, defaults);
      assert.equal(response.completed_at, response.status === 'completed' ? 9 : null);
    }
  });

test("the caller's own values are repeated", () => {
  const given = {
    temperature: 0.2,
    top_p: 0.5,
    metadata: { a: 'b' },
    user: 'u',
    max_output_tokens: 9,
  };
  for (const response of allOf({ ...body, ...given }, 'stop'))
    assert.partialDeepStrictEqual(response, given);
});
