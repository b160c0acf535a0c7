import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { chatCatalog } from '../kit/chat-row.ts';
import { openEvents } from '../kit/events.ts';
import { tinyPng } from '../kit/fake.ts';
import type { Reply } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { boundTokens } from '../../src/core/chat/tokens.ts';
import { until } from '../kit/until.ts';
import { chatWires } from '../upstreams/chat-wires.ts';
import { streamOf } from '../upstreams/fakes/openai-chat.ts';
import type { Answer } from '../upstreams/fakes/kit.ts';
import { usualUsage, type FakeChat, type SaidReply } from '../upstreams/fakes/said.ts';
import { dataIn, doors, type Ask, type HeardReply } from './doors.ts';

/**
 * Each API of ours before an upstream of each API, whole and streamed: the caller hears what the
 * model said, the model gets what the caller wrote, and both cost the same everywhere.
 */

type Json = Record<string, any>;
type WireName = keyof typeof chatWires;
type DoorName = keyof typeof doors;

const wireNames = Object.keys(chatWires) as WireName[];
const doorNames = Object.keys(doors) as DoorName[];
const open = {} as Record<WireName, FakeChat>;
const dir = mkdtempSync(join(tmpdir(), 'farebox-matrix-'));

const definition = (name: WireName) =>
  chatCatalog({
    name,
    adapter: chatWires[name].adapter,
    url: open[name].url,
    key_from: `KEY_${name.toUpperCase()}`,
    options: chatWires[name].options,
    id: `matrix/${name}`,
    price:
      '{ unit: 1M tokens, input_usd: "3", cached_input_usd: "0.3", cache_write_usd: "3.75", output_usd: "15" }',
    upstream_model: 'model-fake',
  });

after(async () => {
  const { reserved } = await service.balance(account);
  assert.equal(reserved, 0n);
});
const { service, account } = withService(async () => {
  for (const name of wireNames) open[name] = await chatWires[name].open();
  for (const name of wireNames) writeFileSync(join(dir, `${name}.yaml`), definition(name));
  return {
    env: {
      FAREBOX_CATALOG: dir,
      ...Object.fromEntries(wireNames.map((name) => [`KEY_${name.toUpperCase()}`, open[name].key])),
      FAREBOX_TEST_PUBLIC_HOSTS: wireNames.map((name) => new URL(open[name].url).host).join(','),
    },
  };
});
after(async () => {
  for (const name of wireNames) await open[name].close();
  rmSync(dir, { recursive: true });
});

interface BookedRow {
  status: string;
  charged_usd_micro: bigint | null;
}

interface PlayedCall {
  reply: Reply;
  heard: HeardReply | null;
  booked: BookedRow;
}

/** Makes a call and waits until it is settled. */
async function play(
  wire: WireName,
  door: DoorName,
  body: Json,
  stream: boolean,
  answer: Answer,
): Promise<PlayedCall> {
  const { path, whole, streamed } = doors[door];
  // An earlier fault does not pause the model for the next call.
  await service.db.run(rawSql('delete from upstreams'));
  open[wire].desk.script(answer);
  const sent = { ...body, model: `matrix/${wire}`, ...(stream && { stream }) };
  const reply = await account.post(path, sent);
  const booked = await newest();
  if (reply.status !== 200) return { reply, heard: null, booked };
  const heard = stream ? streamed(dataIn(reply)) : whole(reply.body);
  return { reply, heard, booked };
}

async function newest(): Promise<BookedRow> {
  return until('the call is settled', async () => {
    const [row] = await service.db.run<BookedRow>(sql`select status, charged_usd_micro from requests
      order by id desc limit 1`);
    return row === undefined || row.charged_usd_micro === null ? null : row;
  });
}

const answerOf = (wire: WireName, said: SaidReply, stream: boolean): Answer =>
  stream ? streamOf(chatWires[wire].events(said).join('')) : { json: chatWires[wire].whole(said) };

/** The last call that the model got. */
const asked = (wire: WireName) => chatWires[wire].asked(open[wire].desk.asked.at(-1)!);

/** Plays a scene at each door with each upstream. */
function everywhere(
  what: string,
  run: (wire: WireName, door: DoorName, stream: boolean) => Promise<void>,
): void {
  for (const wire of wireNames)
    for (const door of doorNames)
      for (const stream of [false, true])
        test(`${what}: ${door} before ${wire}, ${stream ? 'streamed' : 'whole'}`, () =>
          run(wire, door, stream));
}

const chargeOf = ({ prompt, cached, written, output } = usualUsage): bigint => {
  const amount = (prompt - cached - written) * 3 + cached * 0.3 + written * 3.75 + output * 15;
  return BigInt(Math.ceil(Number(amount.toFixed(3))));
};

const image = { type: 'image/png', data: tinyPng.toString('base64') };
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

const scenes: Record<string, { ask: Ask; said: SaidReply }> = {
  'a text': { ask: { text: 'Hello.' }, said: { text: 'Hello, wörld ✓, and all the others.' } },
  'an image': { ask: { text: 'Look.', image }, said: { text: 'A dot.' } },
  'a schema': { ask: { text: 'Where?', schema }, said: { text: '{"city":"Oslo"}' } },
  'a reply that is cut off': {
    ask: { text: 'Count.' },
    said: { text: 'One, two', finish: 'length' },
  },
  'a refusal': { ask: { text: 'Steal.' }, said: { text: 'I will not.', refuses: true } },
};

for (const [what, { ask, said }] of Object.entries(scenes))
  everywhere(what, async (wire, door, stream) => {
    const body = doors[door].body(ask);
    const { reply, heard, booked } = await play(
      wire,
      door,
      body,
      stream,
      answerOf(wire, said, stream),
    );
    assert.equal(reply.status, 200, reply.text);
    const { cost, own: _own, ...rest } = heard!;
    assert.deepEqual(rest, { finish: 'stop', ...said });
    assert.equal(booked.charged_usd_micro, chargeOf());
    assert.equal(cost, String(chargeOf()));
    assert.deepEqual(asked(wire), {
      texts: ['Be brief.', ask.text],
      images: ask.image ? [`data:${image.type};base64,${image.data}`] : [],
      tools: [],
      schema: ask.schema ?? null,
      effort: null,
      proofs: [],
      calls: [],
      results: [],
    });
  });

const thinking: SaidReply = {
  thought: { text: 'The caller wants to look twice.', proof: 'proof-of-the-thought' },
  text: 'Let me see.',
  calls: [
    { id: 'call_1', name: 'look', input: { at: 1 } },
    { id: 'call_2', name: 'look', input: {} },
  ],
};

everywhere('reasoning and tool calls there and back', async (wire, door, stream) => {
  const { body: bodyOf, next } = doors[door];
  const body = bodyOf({ text: 'Look twice.', tool: 'look', thinks: true });
  const first = await play(wire, door, body, stream, answerOf(wire, thinking, stream));
  assert.equal(first.reply.status, 200, first.reply.text);
  const { thought, text, calls } = first.heard!;
  assert.equal(thought?.text, thinking.thought!.text);
  assert.deepEqual([text, calls], [thinking.text, thinking.calls]);
  assert.equal(first.booked.charged_usd_micro, chargeOf());
  const { tools, effort } = asked(wire);
  assert.deepEqual([tools, effort], [['look'], 'low']);
  const second = await play(
    wire,
    door,
    next(body, first.heard!, 'a lake'),
    stream,
    answerOf(wire, { text: 'Two lakes.' }, stream),
  );
  assert.equal(second.reply.status, 200, second.reply.text);
  assert.equal(second.heard!.text, 'Two lakes.');
  const { proofs, calls: sent, results, texts } = asked(wire);
  assert.deepEqual(proofs, [thinking.thought!.proof], 'the model gets its reasoning back');
  assert.deepEqual(
    [sent, results],
    [
      ['call_1', 'call_2'],
      ['call_1', 'call_2'],
    ],
  );
  assert.deepEqual(texts, ['Be brief.', 'Look twice.', 'a lake', 'a lake', 'And now?']);
});

for (const wire of ['messages', 'completions'] as const)
  for (const stream of [false, true])
    test(`messages before ${wire}, ${stream ? 'streamed' : 'whole'}: the text that ended the reply`, async () => {
      const ended = async (said: SaidReply) => {
        const body = { ...doors.messages.body({ text: 'Count.' }), stop_sequences: ['END'] };
        const answer = answerOf(wire, said, stream);
        const { reply } = await play(wire, 'messages', body, stream, answer);
        const events: Json[] = stream ? dataIn(reply) : [];
        const end = stream
          ? events.find(({ type }) => type === 'message_delta')!.delta
          : (reply.body as Json);
        return [end.stop_reason, end.stop_sequence];
      };
      assert.deepEqual(await ended({ text: '1, 2', stop: 'END' }), ['stop_sequence', 'END']);
      assert.deepEqual(await ended({ text: '1, 2' }), ['end_turn', null]);
      // Servers may write a word of their own into this field: only a text from the caller counts.
      assert.deepEqual(await ended({ text: '1, 2', stop: 'eos' }), ['end_turn', null]);
    });

everywhere('a reply without usage', async (wire, door, stream) => {
  const body = doors[door].body({ text: 'Hello.' });
  const said: SaidReply = { text: 'Hello.', usage: null };
  const { heard, booked } = await play(wire, door, body, stream, answerOf(wire, said, stream));
  assert.equal(heard!.text, 'Hello.');
  const same = await play(
    'completions',
    'completions',
    doors.completions.body({ text: 'Hello.' }),
    stream,
    answerOf('completions', said, stream),
  );
  assert.equal(booked.charged_usd_micro, same.booked.charged_usd_micro);
  assert.ok(booked.charged_usd_micro! > 0n);
});

everywhere('an error before the reply is free', async (wire, door, stream) => {
  const { refusal, broken, events } = chatWires[wire];
  const head = events({ text: '' }).slice(0, wire === 'completions' ? 0 : 1);
  const answers: [Answer, number][] = [
    [refusal(400, 'HIDDEN'), 400],
    [refusal(429, 'HIDDEN'), 503],
    [refusal(500, 'HIDDEN'), 502],
    ...(stream
      ? [
          [streamOf([...head, broken('HIDDEN')].join('')), wire === 'messages' ? 503 : 502] as [
            Answer,
            number,
          ],
        ]
      : []),
  ];
  for (const [answer, status] of answers) {
    const { reply, booked } = await play(
      wire,
      door,
      doors[door].body({ text: 'Hello.' }),
      stream,
      answer,
    );
    assert.equal(booked.charged_usd_micro, 0n);
    assert.deepEqual([reply.status, booked.status], [status, 'FAILED'], reply.text);
  }
});

describe('a stream that breaks off is charged for what arrived', () => {
  for (const wire of wireNames)
    for (const door of doorNames)
      test(`${door} before ${wire}`, async () => {
        const { events, broken } = chatWires[wire];
        const all = events({ text: 'first, second, third, fourth.' });
        const half = all.slice(0, all.findIndex((event) => event.includes('second')) + 2);
        for (const last of [broken('HIDDEN'), '']) {
          const body = doors[door].body({ text: 'Count.' });
          const answer = streamOf([...half, last].join(''));
          const { reply, booked } = await play(wire, door, body, true, answer);
          assert.equal(reply.status, 200, reply.text);
          assert.match(reply.text, /submit_failed/);
          assert.doesNotMatch(reply.text, /HIDDEN|sk-/);
          assert.ok(booked.charged_usd_micro! > 0n);
          assert.ok(booked.charged_usd_micro! < chargeOf());
          // Only Messages reports the prompt at the beginning; 21 bytes arrived.
          if (wire === 'messages')
            assert.equal(booked.charged_usd_micro, chargeOf({ ...usualUsage, output: 6 }));
        }
      });
});

for (const door of doorNames)
  test(`${door} before messages, whose end has no usage: its placeholder is not charged`, async () => {
    const text = 'first, second, third, fourth.';
    const events = chatWires.messages.events({ text });
    const answer = streamOf(events.map((event) => withoutEnd(event)).join(''));
    const body = doors[door].body({ text: 'Count.' });
    const { heard, booked } = await play('messages', door, body, true, answer);
    assert.equal(heard!.text, text);
    const output = boundTokens(text);
    assert.equal(booked.charged_usd_micro, chargeOf({ ...usualUsage, output }));
    assert.equal(heard!.cost, String(booked.charged_usd_micro));
  });

/** An event of Messages; if it is the last one, without its usage. */
const withoutEnd = (event: string) =>
  event.includes('"message_delta"') ? event.replace(/,"usage":\{.*\}(?=\}\n)/, '') : event;

describe('a caller who leaves pays the usage at the end of the stream', () => {
  for (const wire of wireNames)
    for (const door of doorNames)
      test(`${door} before ${wire}`, async () => {
        const all = chatWires[wire].events({ text: 'first, second, third, fourth.' });
        const at = all.findIndex((event) => event.includes('second')) + 1;
        const gate = Promise.withResolvers<void>();
        open[wire].desk.script(
          streamOf(
            (async function* () {
              yield all.slice(0, at).join('');
              await gate.promise;
              yield all.slice(at).join('');
            })(),
          ),
        );
        const body = { ...doors[door].body({ text: 'Count.' }), stream: true };
        const { path } = doors[door];
        const events = await openEvents(service.base, path, {
          key: account.key,
          body: { ...body, model: `matrix/${wire}` },
        });
        assert.equal(events.status, 200);
        for (let text = ''; !text.includes('second');) text += (await events.next())!.data;
        events.leave();
        gate.resolve();
        assert.equal((await newest()).charged_usd_micro, chargeOf());
      });
});
