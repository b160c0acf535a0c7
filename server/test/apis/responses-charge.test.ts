import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { tinyPng } from '../kit/fake.ts';
import { openEvents } from '../kit/events.ts';
import { until } from '../kit/until.ts';
import { chunkOf, eventsOf, replyOf, streamOf, usual } from '../upstreams/fakes/openai-chat.ts';
import type { Answer } from '../upstreams/fakes/kit.ts';
import { openStage, type Stage } from './responses-kit.ts';

type Json = Record<string, any>;

/** Plays each scene through the chat call and through Responses: they cost the same. */

let stage: Stage;
before(async () => void (stage = await openStage()));
after(() => stage.close());

const picture = `data:image/png;base64,${tinyPng.toString('base64')}`;
const called = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } };
const parameters = { type: 'object', properties: {} };
const schema = { type: 'object', properties: { city: { type: 'string' } } };
/** A text whose last events are larger than the buffer of a stream. */
const long = 'A long text with ünïcode. '.repeat(40_000);
const refusal = 'I will not.';
const pieces = (delta: Json, finish = 'stop') => [
  chunkOf({ role: 'assistant', content: '' }),
  chunkOf(delta),
  chunkOf({}, {}, finish),
];

interface Scene {
  /** Fields of the two calls besides the question. */
  chat?: Json;
  responses?: Json;
  /** The reply's message and finish reason. */
  message: Json;
  finish?: string;
  usage?: Json | null;
}

const scenes: Record<string, Scene> = {
  'a text': { message: { content: 'Hello.' } },
  'a text without usage': { message: { content: 'Hello.' }, usage: null },
  'a long text, cut off': { message: { content: long }, finish: 'length', usage: null },
  reasoning: { message: { content: 'Yes.', reasoning_content: 'Hm.' }, usage: null },
  'a refusal': { message: { content: null, refusal }, usage: null },
  'a tool call': {
    chat: { tools: [{ type: 'function', function: { name: 'look', parameters } }] },
    responses: { tools: [{ type: 'function', name: 'look', parameters }] },
    message: { content: null, tool_calls: [{ index: 0, ...called }] },
    finish: 'tool_calls',
    usage: null,
  },
  'a schema': {
    chat: { response_format: { type: 'json_schema', json_schema: { name: 'city', schema } } },
    responses: { text: { format: { type: 'json_schema', name: 'city', schema } } },
    message: { content: '{"city":"x"}' },
  },
  'an image': {
    chat: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hello' },
            { type: 'image_url', image_url: { url: picture } },
          ],
        },
      ],
    },
    responses: {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'hello' },
            { type: 'input_image', image_url: picture },
          ],
        },
      ],
    },
    message: { content: 'A dot.' },
    usage: null,
  },
};

const doors = {
  chat: { path: '/v1/chat/completions', limit: 'max_tokens' },
  responses: { path: '/v1/responses', limit: 'max_output_tokens' },
} as const;
type Door = keyof typeof doors;

function bodyOf(door: Door, { chat, responses }: Scene, stream: boolean): Json {
  const question =
    door === 'chat'
      ? { messages: [{ role: 'user', content: 'hello' }], ...chat }
      : { input: 'hello', ...responses };
  return { model: 'stage/chat', [doors[door].limit]: 50_000, stream, ...question };
}

function answerOf({ message, finish = 'stop', usage = usual }: Scene, stream: boolean): Answer {
  if (stream) {
    const last = usage === null ? [] : [chunkOf({}, { choices: [], usage })];
    return streamOf(eventsOf([...pieces(message, finish), ...last]));
  }
  const [choice] = replyOf({}, message).choices as Json[];
  const choices = [{ ...choice, finish_reason: finish }];
  return { json: { ...replyOf({ choices }), usage: usage ?? undefined } };
}

interface BookedRow {
  id: string;
  status: string;
  quoted_usd_micro: bigint;
  charged_usd_micro: bigint | null;
}

async function newest(): Promise<BookedRow> {
  const [row] = await stage.service.db.run<BookedRow>(sql`
    select id, status, quoted_usd_micro, charged_usd_micro from requests
       order by id desc limit 1`);
  return row!;
}

/** The status, quote and charge of a call, without its id. */
async function booked(): Promise<Omit<BookedRow, 'id'>> {
  const { id: _id, ...rest } = await until('the call is settled', async () => {
    const row = await newest();
    return row.charged_usd_micro === null ? null : row;
  });
  return rest;
}

async function play(door: Door, body: Json, answer: Answer, headers: Record<string, string> = {}) {
  stage.fake.chat.script(answer);
  const { service, account } = stage;
  // An earlier fault does not pause the model for the next call.
  await service.db.run(rawSql('delete from upstreams'));
  const { key } = account;
  const reply = await service.call('POST', doors[door].path, { key, body, headers });
  return { reply, ...(await booked()) };
}

/** The data of the events of a stream. */
const eventsIn = (text: string): Json[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));

for (const [what, scene] of Object.entries(scenes)) {
  for (const stream of [false, true]) {
    test(`${what}${stream ? ', streamed' : ''}`, async () => {
      const [chat, responses] = [
        await play('chat', bodyOf('chat', scene, stream), answerOf(scene, stream)),
        await play('responses', bodyOf('responses', scene, stream), answerOf(scene, stream)),
      ];
      const { reply: _reply, ...cost } = chat;
      const { reply, ...same } = responses;
      assert.deepEqual(same, cost);
      assert.ok(same.charged_usd_micro! > 0n);
      const last = stream ? eventsIn(reply.text).at(-1)!.response : reply.body;
      assert.equal(last.usage.cost_usd_micro, String(same.charged_usd_micro));
      assert.equal(last.status, scene.finish === 'length' ? 'incomplete' : 'completed');
      if (!stream)
        assert.equal(reply.headers.get('x-charge-usd-micro'), String(same.charged_usd_micro));
    });
  }
}

describe('a reply that fails', () => {
  const scene: Scene = { message: { content: 'Hello.' } };
  const error = { message: 'HIDDEN', type: 'server_error' };
  const broken = () => streamOf(eventsOf([chunkOf({ content: 'Hel' }), { error }]));

  test('at its upstream, before a word: free, in the same form', async () => {
    for (const stream of [false, true])
      for (const status of [400, 429, 500]) {
        const [chat, responses] = [
          await play('chat', bodyOf('chat', scene, stream), { status, json: { error } }),
          await play('responses', bodyOf('responses', scene, stream), { status, json: { error } }),
        ];
        assert.equal(responses.charged_usd_micro, 0n);
        const shown = ({ reply }: typeof chat) => [
          reply.status,
          { ...reply.body.error, request_id: null },
        ];
        assert.deepEqual(shown(responses), shown(chat));
      }
  });

  test('in the middle: the delivered part is charged, and response.failed says so', async () => {
    const chat = await play('chat', bodyOf('chat', scene, true), broken());
    const { reply, ...cost } = await play('responses', bodyOf('responses', scene, true), broken());
    assert.equal(cost.charged_usd_micro, chat.charged_usd_micro);
    const { type, response } = eventsIn(reply.text).at(-1)!;
    assert.deepEqual([type, response.status], ['response.failed', 'failed']);
    assert.equal(response.error.details.reason, 'model_broke_off');
    assert.equal(response.usage.cost_usd_micro, String(cost.charged_usd_micro));
    assert.equal(response.output[0].content[0].text, 'Hel');
    assert.doesNotMatch(reply.text, /HIDDEN|\[DONE\]/);
  });

  test('because its caller leaves: the delivered part is charged', async () => {
    const charges: (bigint | null)[] = [];
    for (const door of ['chat', 'responses'] as const) {
      const gate = Promise.withResolvers<void>();
      const held = async function* () {
        yield eventsOf([chunkOf({ content: 'Hello.' })], { done: false });
        await gate.promise;
      };
      stage.fake.chat.script(streamOf(held()));
      const left = stage.fake.chat.abandoned();
      const { base } = stage.service;
      const body = bodyOf(door, scene, true);
      const events = await openEvents(base, doors[door].path, { key: stage.account.key, body });
      for (let text = ''; !text.includes('Hello.');) text += (await events.next())?.data ?? '';
      events.leave();
      await left;
      gate.resolve();
      charges.push((await booked()).charged_usd_micro);
    }
    assert.equal(charges[0], charges[1]);
    assert.ok(charges[0]! > 0n);
  });
});

describe('the same Idempotency-Key', () => {
  const headers = (key: string) => ({ 'idempotency-key': key });

  test('repeats a reply and a stream with their reasoning, free of charge', async () => {
    const detail = { type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', index: 0 };
    const scene: Scene = { message: { content: 'Yes.', reasoning_details: [detail] } };
    for (const stream of [false, true]) {
      const body = bodyOf('responses', scene, stream);
      const key = headers(`repeat-${stream}`);
      const { reply: first } = await play('responses', body, answerOf(scene, stream), key);
      const asked = stage.fake.chat.asked.length;
      const before = await stage.service.balance(stage.account);
      const again = await stage.service.call('POST', '/v1/responses', {
        key: stage.account.key,
        body,
        headers: key,
      });
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assert.equal(stage.fake.chat.asked.length, asked);
      assert.deepEqual(await stage.service.balance(stage.account), before);
      const last = (text: string) => eventsIn(text).at(-1)!.response;
      if (stream) assert.deepEqual(last(again.text), last(first.text));
      else assert.deepEqual(again.body, first.body);
    }
  });

  test('is not shared with the chat call', async () => {
    const scene: Scene = { message: { content: 'Yes.' } };
    const body = bodyOf('responses', scene, false);
    const key = headers('shared');
    await play('responses', body, answerOf(scene, false), key);
    const other = await stage.service.call('POST', '/v1/chat/completions', {
      key: stage.account.key,
      body: bodyOf('chat', scene, false),
      headers: key,
    });
    assert.deepEqual([other.status, other.body.error.code], [409, 'idempotency_conflict']);
  });
});
