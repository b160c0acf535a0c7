import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { ReplyBroken } from '../../src/core/apis/read-reply.ts';
import { gatherReply, type ReplyEvent } from '../../src/core/chat/reply.ts';
import { createChat } from '../../src/upstreams/openai/chat.ts';
import { chatForm, createOpenai } from '../../src/upstreams/openai/openai.ts';
import { optionsOf } from '../../src/upstreams/openai/options.ts';
import { createWire } from '../../src/upstreams/openai/wire.ts';
import type { ChatOutcome } from '../../src/upstreams/upstream.ts';
import { halfJson, htmlPage, type Answer } from './fakes/kit.ts';
import {
  chunkOf,
  eventsOf,
  replyOf,
  sayings,
  streamOf,
  usual,
  usualChunks,
} from './fakes/openai-chat.ts';
import { errorAnswer } from './fakes/openai-media.ts';
import { callOf, openStand, type Stand } from './openai-kit.ts';

type Json = Record<string, any>;

let stand: Stand;
before(async () => void (stand = await openStand()));
after(() => stand.close());

const text = sayings.join('');

const ask = (body?: Json, upstream = stand.upstream) => upstream.chat!(callOf(false, body));
const stream = (body?: Json, upstream = stand.upstream) => upstream.chat!(callOf(true, body));

function eventsIn(outcome: ChatOutcome): AsyncIterable<ReplyEvent> {
  assert.equal(outcome.outcome, 'reply', JSON.stringify(outcome));
  return (outcome as { events: AsyncIterable<ReplyEvent> }).events;
}

/** All events, and the error with which the reply broke off. */
async function read(outcome: ChatOutcome) {
  const events: ReplyEvent[] = [];
  try {
    for await (const event of eventsIn(outcome)) events.push(event);
    return { events, fault: null };
  } catch (error) {
    return { events, fault: error as Error };
  }
}

/** The sum of the events. */
function saidIn(events: ReplyEvent[]) {
  const reply = gatherReply();
  for (const event of events) reply.add(event);
  const pieces = reply.events();
  const of = (...types: string[]) => pieces.filter(({ type }) => types.includes(type));
  const end = reply.end();
  return {
    text: of('text')
      .map((each) => (each as { text: string }).text)
      .join(''),
    thought: of('thought')
      .map((each) => (each as { text: string }).text)
      .join(''),
    calls: of('call', 'input'),
    usage: reply.usage(end !== null),
    reason: end?.reason ?? null,
  };
}

describe('a call', () => {
  test('the body, the model, the limit under its name, and the key', async () => {
    await ask({ temperature: 0.2, tools: [{ type: 'function', function: { name: 'f' } }] });
    const call = stand.fake.calls.at(-1)!;
    assert.equal(`${call.method} ${call.path}`, 'POST /v1/chat/completions');
    assert.equal(call.headers.authorization, `Bearer ${stand.fake.key}`);
    assert.equal(call.headers['content-type'], 'application/json');
    assert.deepEqual(stand.fake.chat.asked.at(-1), {
      temperature: 0.2,
      tools: [{ type: 'function', function: { name: 'f' } }],
      model: 'gpt-fake',
      messages: [{ role: 'user', content: 'Say hello.' }],
      max_tokens: 50,
    });
  });

  test('a call that cannot be prepared is not sent, and says so', async () => {
    const before = stand.fake.calls.length;
    const unreadable = {
      content_type: 'image/png',
      size: 1,
      open: () => Promise.reject(new Error('the disk is away')),
    };
    const content = [{ type: 'image_url', image_url: { url: 'file_1' } }];
    const call = callOf(false, { messages: [{ role: 'user', content }] });
    const outcome = await stand.upstream.chat!({ ...call, files: { file_1: unreadable } });
    assert.equal(outcome.outcome, 'not_accepted');
    assert.equal((outcome as Json).unasked, true);
    assert.equal(stand.fake.calls.length, before);
  });

  test('a server of Responses gets the optional fields that it has a form for', () => {
    const own = { prompt_cache_key: 'k', safety_identifier: 's' };
    const other = { top_k: 4, reasoning: { effort: 'low' } };
    const cache_control = { type: 'ephemeral' };
    const content = [{ type: 'text', text: 'x', cache_control }];
    const { model: _model, ...call } = callOf(false, {
      ...own,
      ...other,
      messages: [{ role: 'user', content }],
    });
    const pass = [...Object.keys({ ...own, ...other }), 'cache_control'];
    const ignoredAt = (api: string, passed: string[] = pass) => {
      const { write, dialect } = chatForm(optionsOf({ api, pass: passed }));
      const calling = { ...call, model: 'gpt-fake' };
      return write(call.conversation, calling, dialect).ignored.toSorted();
    };
    assert.deepEqual(ignoredAt('completions'), []);
    assert.deepEqual(ignoredAt('responses'), ['cache_control', 'reasoning', 'top_k']);
    assert.deepEqual(ignoredAt('responses', []), pass.toSorted());
  });

  test('a stream asks for its usage', async () => {
    await read(await stream());
    const { stream: streamed, stream_options } = stand.fake.chat.asked.at(-1)!;
    assert.deepEqual([streamed, stream_options], [true, { include_usage: true }]);
  });

  test('by option: the newer name of the limit, without usage', async () => {
    const options = { token_limit: 'max_completion_tokens', include_usage: false };
    stand.fake.chat.script(streamOf(eventsOf(usualChunks(null))));
    const { events } = await read(await stream({}, stand.other(options)));
    const asked = stand.fake.chat.asked.at(-1)!;
    assert.equal(asked.max_completion_tokens, 50);
    assert.ok(!('max_tokens' in asked) && !('stream_options' in asked));
    assert.equal(saidIn(events).usage, null);
  });

  test('a server without a key gets none', async () => {
    await ask({}, stand.other({}, { key: null }));
    assert.equal(stand.fake.calls.at(-1)!.headers.authorization, undefined);
  });

  test('a base path is put behind an address that lacks it, once', () => {
    const base = { name: 'x', key: null, secret: null, concurrency: 1, options: {} };
    const urlOf = (url: string) => createWire({ ...base, url }, stand.tools, '/v1').url;
    assert.equal(urlOf('http://localhost:11434'), 'http://localhost:11434/v1');
    assert.equal(urlOf('http://localhost:11434/v1'), 'http://localhost:11434/v1');
  });

  test('options that do not fit are refused', () => {
    for (const options of [{ videos: 'film' }, { idle_seconds: 0 }, { speed: 1 }, { base_path: 7 }])
      assert.throws(() => stand.other(options as Json), /option/);
  });
});

describe('a field of messages that is refused', () => {
  const turns: Json = {
    name: { role: 'user', name: 'Ann', content: 'Hello.' },
    reasoning_content: { role: 'assistant', reasoning_content: 'Well.', content: 'Hello.' },
    refusal: { role: 'assistant', refusal: 'No.' },
  };
  const words: Json = {
    name: "property 'name' is unsupported",
    reasoning_content: 'messages.0.reasoning_content: Extra inputs are not permitted',
    refusal: 'Unknown field `refusal`',
  };
  for (const field of Object.keys(turns)) {
    const body = { messages: [turns[field]] };
    const hasField = (call: number) =>
      field in (stand.fake.chat.asked.at(call) as Json).messages[0];

    test(`${field} is left out at once, and of later calls`, async () => {
      const upstream = stand.other({});
      stand.fake.chat.script(errorAnswer(400, words[field]));
      const outcome = (await ask(body, upstream)) as Json;
      assert.deepEqual([outcome.outcome, hasField(-2), hasField(-1)], ['reply', true, false]);
      assert.deepEqual(outcome.ignored, [`messages[].${field}`]);
      const calls = stand.fake.calls.length;
      await ask(body, upstream);
      assert.deepEqual([stand.fake.calls.length, hasField(-1)], [calls + 1, false]);
    });

    test(`${field} is sent by later calls if the refusal only quotes the word`, async () => {
      const upstream = stand.other({});
      const quoted = errorAnswer(400, `Invalid file name 'draft.${field}'.`);
      stand.fake.chat.script(quoted, quoted);
      const { outcome } = await ask(body, upstream);
      assert.equal(outcome, 'rejected');
      await ask(body, upstream);
      assert.equal(hasField(-1), true);
    });
  }
});

test('a habit is learned of a model, not of others at its server', async () => {
  const upstream = stand.other({});
  stand.fake.chat.script(errorAnswer(400, 'System message must be at the beginning.'));
  const messages = ['user', 'system', 'user'].map((role) => ({ role, content: 'a' }));
  for (const model of ['one', 'one', 'two'])
    await upstream.chat!({ ...callOf(false, { messages }), model });
  const asked = stand.fake.chat.asked.slice(-4) as Json[];
  assert.deepEqual(
    asked.map((body) => [body.model, body.messages[1].role]),
    [
      ['one', 'system'],
      ['one', 'user'],
      ['one', 'user'],
      ['two', 'system'],
    ],
  );
});

describe('images in messages', () => {
  const withImage = (url: string) => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  });
  const sentUrl = () => (stand.fake.chat.asked.at(-1) as Json).messages[0].content[0].image_url.url;

  test('a public address passes as it is', async () => {
    await ask(withImage('https://example.com/a.png'));
    assert.equal(sentUrl(), 'https://example.com/a.png');
    assert.deepEqual(stand.downloads, []);
  });

  test('by option they are fetched through the guard and sent as data', async () => {
    const upstream = stand.other({ inline_images: true });
    await ask(withImage('https://example.com/a.png'), upstream);
    assert.match(sentUrl(), /^data:image\/png;base64,iVBOR/);
    assert.deepEqual(stand.downloads.splice(0), ['https://example.com/a.png']);
  });

  for (const [what, part] of Object.entries({
    'a file of ours as a picture': { type: 'image_url', image_url: { url: 'file_0190' } },
    'a file of ours as data': { type: 'file', file: { file_data: 'file_0190' } },
    'a file of ours as sound': {
      type: 'input_audio',
      input_audio: { data: 'file_0190', format: 'wav' },
    },
    'a file of ours as a file': { type: 'file', file: { file_id: 'file_0190' } },
  })) {
    test(`${what} is refused, and nothing is sent`, async () => {
      const before = stand.fake.calls.length;
      const outcome = await ask({ messages: [{ role: 'user', content: [part] }] });
      assert.equal(outcome.outcome, 'rejected');
      assert.match((outcome as Json).message, /^messages\[0\]\.content\[0\]\./);
      assert.equal(stand.fake.calls.length, before);
    });
  }
});

describe('a stream', () => {
  const whole = eventsOf(usualChunks());
  // How replies are read from any bytes is a table beside the reader.
  const table: Record<string, Answer> = {
    'cut after every byte, through characters and lines': streamOf(whole, 1),
    'without [DONE]': streamOf(eventsOf(usualChunks(), { done: false })),
    'a whole reply in place of it': { json: replyOf() },
  };
  for (const [what, answer] of Object.entries(table)) {
    test(what, async () => {
      stand.fake.chat.script(answer);
      const { events, fault } = await read(await stream());
      assert.equal(fault, null);
      const { text: said, reason, usage } = saidIn(events);
      assert.deepEqual([said, reason, usage], [text, 'stop', usual]);
    });
  }

  test('reasoning under both of its names, and calls in fragments', async () => {
    const call = (piece: Json) => chunkOf({ tool_calls: [{ index: 0, ...piece }] });
    const chunks = [
      chunkOf({ role: 'assistant', reasoning: 'Let me ' }),
      chunkOf({ reasoning: 'see.' }),
      chunkOf({ reasoning_content: 'Hm.' }),
      call({ id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }),
      call({ function: { arguments: '{"pla' } }),
      call({ function: { arguments: 'ce":"ö"}' } }),
      chunkOf({}, {}, 'tool_calls'),
    ];
    stand.fake.chat.script(streamOf(eventsOf(chunks), 2));
    const { thought, calls, reason } = saidIn((await read(await stream())).events);
    assert.equal(thought, 'Let me see.Hm.');
    assert.deepEqual(calls, [
      { type: 'call', call: 0, id: 'call_1', name: 'look', custom: false },
      { type: 'input', call: 0, text: '{"place":"ö"}' },
    ]);
    assert.equal(reason, 'tools');
  });
});

test('an image at an address that breaks off is the caller`s fault, and free', async () => {
  const broken = async function* () {
    yield Buffer.from('half');
    throw new Error('the connection broke off');
  };
  const download = async () => ({ content_type: 'image/png', size: 9, open: async () => broken() });
  const { url, key } = stand.fake;
  const settings = { name: 'fake', url, key, secret: null, concurrency: 1 };
  const options = { inline_images: true };
  const upstream = createOpenai({ ...settings, options }, { ...stand.tools, download });
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const body = { messages: [{ role: 'user', content: [image] }] };
  const before = stand.fake.calls.length;
  for (const call of [ask, stream]) {
    const outcome = await call(body, upstream);
    assert.equal(outcome.outcome, 'rejected', JSON.stringify(outcome));
  }
  assert.equal(stand.fake.calls.length, before);
});

describe('a fault in mid-stream', () => {
  const begun = [chunkOf({ content: 'Hel' }), chunkOf({ content: 'lo, ' })];
  test('an error that repeats our key or an address is handed on without them', async () => {
    const { key } = stand.fake;
    const said = { message: `no ${key}`, metadata: { raw: [`at http://10.0.0.9/v1 by ${key}`] } };
    const whole = { ...replyOf(), error: said };
    const chunks = [
      { error: said },
      { choices: [{ index: 0, delta: {}, finish_reason: 'error', error: said }] },
    ];
    for (const chunk of chunks) {
      stand.fake.chat.script(streamOf(eventsOf([...begun, chunk])));
      const { fault } = await read(await stream());
      assert.ok(fault instanceof ReplyBroken);
      const told = JSON.stringify([fault.message, fault.error]);
      assert.match(told, /no \*\*\*/);
      assert.ok(!told.includes(key) && !told.includes('10.0.0.9'), told);
    }
    for (const call of [ask, stream]) {
      stand.fake.chat.script({ json: whole });
      const { fault } = await read(await call());
      assert.ok(fault instanceof ReplyBroken);
      const told = JSON.stringify([fault.message, fault.error]);
      assert.match(told, /no \*\*\*/);
      assert.ok(!told.includes(key) && !told.includes('10.0.0.9'), told);
    }
  });

  test('an event named error is an error, whatever it holds', async () => {
    const named = `event: error\ndata: ${JSON.stringify({ message: 'overloaded' })}\n\n`;
    stand.fake.chat.script(streamOf(eventsOf(begun, { done: false }) + named));
    const { fault } = await read(await stream());
    assert.ok(fault instanceof ReplyBroken);
    assert.partialDeepStrictEqual(fault.error, { message: 'overloaded' });
  });

  const breaks: Record<string, { answer: () => Answer; fault: RegExp }> = {
    'an end without a reason': {
      answer: () => streamOf(eventsOf(begun, { done: false })),
      fault: /ended before/,
    },
    'a chunk that is no JSON': {
      answer: () => streamOf(eventsOf([...begun, '{"choices":[{"del'])),
      fault: /an invalid piece/,
    },
    'a connection that breaks': {
      answer: () =>
        streamOf(
          (async function* () {
            yield eventsOf(begun, { done: false });
            throw new Error('gone');
          })(),
        ),
      fault: /127\.0\.0\.1/,
    },
  };
  for (const [what, { answer, fault }] of Object.entries(breaks)) {
    test(`${what} is a fault after what was delivered`, async () => {
      stand.fake.chat.script(answer());
      const seen = await read(await stream());
      assert.match(seen.fault?.message ?? '', fault);
      const { text: said, reason } = saidIn(seen.events);
      assert.deepEqual([said, reason], ['Hello, ', null]);
    });
  }
});

describe('refusals, whole and streamed', () => {
  const inBand = (code: unknown, message: string): Answer => ({
    json: { error: { code, message } },
  });
  const flagged = { metadata: { reasons: ['violence'], flagged_input: 'x' }, code: 403 };
  const table: Record<string, [what: string, answer: Answer, more?: Json][]> = {
    busy: [
      [
        '503, it is loading',
        errorAnswer(503, 'Loading model', { code: 503, type: 'unavailable_error' }),
        { message: 'Loading model' },
      ],
      [
        '429 with Retry-After',
        errorAnswer(429, 'Slow down.', {}, { 'retry-after': '7' }),
        { retry_after_ms: 7000 },
      ],
      ['408', errorAnswer(408, 'Timed out.')],
      [
        '200 with an error inside',
        inBand(429, 'Provider is busy.'),
        { message: 'Provider is busy.' },
      ],
    ],
    account: [
      ['402', errorAnswer(402, 'Insufficient credits.')],
      [
        '429 insufficient_quota',
        errorAnswer(429, 'You exceeded your quota.', { code: 'insufficient_quota' }),
      ],
      [
        'the limit of our key',
        errorAnswer(403, 'Key limit exceeded (total limit).', { code: 403 }),
      ],
      ['200 with an error inside', inBand(402, 'Insufficient credits.')],
    ],
    credential: [['401', errorAnswer(401, 'No auth credentials found.')]],
    model: [
      [
        '404 with the code for it',
        errorAnswer(404, 'It does not exist.', { code: 'model_not_found' }),
      ],
      [
        '404 of vLLM',
        errorAnswer(404, 'The model `gpt-fake` does not exist.', { type: 'NotFoundError' }),
      ],
      [
        '404 of older vLLM',
        {
          status: 404,
          json: { object: 'error', message: 'The model `gpt-fake` does not exist.', code: 404 },
        },
      ],
      ['404 of Ollama', errorAnswer(404, "model 'gpt-fake' not found")],
      ['404 of OpenRouter', errorAnswer(404, 'No endpoints found for gpt-fake.', { code: 404 })],
      ['400 that names it', errorAnswer(400, 'gpt-fake is not a valid model ID', { code: 400 })],
      [
        '404 in words of no error, since nothing is at its address',
        { status: 404, body: '404 page not found' },
      ],
    ],
    rejected: [
      [
        '404 that is about what the caller asks for',
        errorAnswer(404, 'No endpoints found that support tool use.', { code: 404 }),
        { message: 'No endpoints found that support tool use.' },
      ],
      ['404 that names a longer model', errorAnswer(404, "model 'gpt-fake-2' not found")],
      [
        '400 that repeats what the caller wrote',
        errorAnswer(400, 'Invalid value: "gpt-fake is not a valid model ID".'),
      ],
      [
        '400 about another model',
        errorAnswer(400, 'acme/x is not a valid model ID', { code: 400 }),
      ],
      [
        '400',
        errorAnswer(400, 'max_tokens is too large.', { param: 'max_tokens' }),
        { message: 'max_tokens is too large.' },
      ],
      [
        '403 of a moderator',
        errorAnswer(403, 'Your input was flagged.', flagged),
        { message: 'Your input was flagged.' },
      ],
      [
        '422 of a validator',
        { status: 422, json: { detail: [{ loc: ['body'], msg: 'field required' }] } },
        { message: 'field required' },
      ],
      ['200 with an error inside', inBand('invalid_request_error', 'messages is too long.')],
    ],
    unknown: [
      ['500', errorAnswer(500, 'The server had an error.')],
      ['502 with a page', { status: 502, body: htmlPage }],
      ['half of a JSON text', halfJson],
      ['a page with 200', { body: htmlPage, headers: { 'content-type': 'text/html' } }],
      ['a broken connection', { cutAfter: 0 }],
      ['no choice', { json: { ...replyOf(), choices: [] } }],
      [
        '200 with an error inside that says nothing',
        inBand(null, 'The server had an error.'),
        { message: 'The server had an error.' },
      ],
    ],
  };
  const isOutcome = (verdict: string) => verdict === 'rejected' || verdict === 'unknown';
  for (const [verdict, rows] of Object.entries(table))
    for (const [what, answer, more] of rows)
      test(`${verdict}: ${what}`, async () => {
        const expected = isOutcome(verdict)
          ? { outcome: verdict, ...more }
          : { outcome: 'not_accepted', why: verdict, ...more };
        for (const call of [ask, stream]) {
          const before = stand.fake.calls.length;
          stand.fake.chat.script(answer);
          assert.partialDeepStrictEqual(await call(), expected);
          assert.equal(stand.fake.calls.length, before + 1, 'no call is repeated');
        }
      });

  test('busy: an error as the first chunk is told as a refusal', async () => {
    const first = { error: { code: 503, message: 'No instances available.' } };
    stand.fake.chat.script(streamOf([': OPENROUTER PROCESSING\n\n', eventsOf([first])]));
    assert.partialDeepStrictEqual(await stream(), {
      outcome: 'not_accepted',
      why: 'busy',
      message: 'No instances available.',
    });
  });

  test('unknown: a stream of nothing', async () => {
    for (const events of ['data: [DONE]\n\n', ': bye\n\n', '']) {
      stand.fake.chat.script(streamOf(events));
      assert.equal((await stream()).outcome, 'unknown');
    }
  });

  test('a reply that broke off keeps its error and its text', async () => {
    const error = { code: 502, message: 'Provider gone.' };
    stand.fake.chat.script({ json: replyOf({ error }) });
    const { events, fault } = await read(await ask());
    assert.ok(fault instanceof ReplyBroken);
    assert.partialDeepStrictEqual(fault.error, error);
    assert.equal(saidIn(events).text, text);
  });

  test('unreachable: no server listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const settings = { name: 'x', url: `http://127.0.0.1:${port}/v1`, key: 'sk-x', secret: null };
    const away = createOpenai({ ...settings, concurrency: 1, options: {} }, stand.tools);
    for (const call of [ask, stream])
      assert.partialDeepStrictEqual(await call({}, away), {
        outcome: 'not_accepted',
        why: 'unreachable',
      });
  });

  test('no message holds the key or an address', async () => {
    const wrong = stand.other({}, { key: 'sk-secret-of-the-operator' });
    for (const call of [ask, stream]) {
      const outcome = (await call({}, wrong)) as Json;
      assert.equal(outcome.why, 'credential');
      assert.ok(!outcome.message.includes('sk-secret'), outcome.message);
    }
    const docs = 'Wrong. See https://platform.openai.com/docs?key=1 for more.';
    stand.fake.chat.script(errorAnswer(400, docs));
    assert.equal(((await ask()) as Json).message, 'Wrong. See … for more.');
  });
});

describe('time and leaving', () => {
  /** A stream that sends these events, then nothing until the client disconnects. */
  const stalled = (...events: string[]) =>
    streamOf(
      (async function* () {
        yield* events;
        await stand.fake.chat.abandoned();
      })(),
    );

  /** The chat part alone, with shorter times than a definition can have. */
  function chatWith(
    times: { idle_seconds?: number; first_byte_seconds?: number },
    peekMs?: number,
  ) {
    const settings = { name: 'x', url: stand.fake.url, key: stand.fake.key, secret: null };
    const wire = createWire({ ...settings, concurrency: 1, options: {} }, stand.tools, '');
    const options = { ...optionsOf({}), ...times };
    return createChat(wire, chatForm(options), options, stand.tools, peekMs);
  }

  test('a stream that pauses for too long is a fault', async () => {
    const left = stand.fake.chat.abandoned();
    stand.fake.chat.script(stalled(eventsOf([chunkOf({ content: 'Hel' })], { done: false })));
    const { events, fault } = await read(await chatWith({ idle_seconds: 0.05 })(callOf(true)));
    assert.equal(events.length, 1);
    assert.match(fault?.message ?? '', /no data came for too long/);
    await left;
  });

  test('a first byte that never comes is a fault', async () => {
    stand.fake.chat.script(stalled());
    const outcome = await chatWith({ first_byte_seconds: 0.05 })(callOf(true));
    assert.equal(outcome.outcome, 'unknown');
  });

  test('a slow model: the stream is handed on before its first byte', async () => {
    const loaded = Promise.withResolvers<void>();
    stand.fake.chat.script(
      streamOf(
        (async function* () {
          await loaded.promise;
          yield eventsOf(usualChunks());
        })(),
      ),
    );
    const outcome = await chatWith({ idle_seconds: 0.05 }, 0)(callOf(true));
    assert.equal(outcome.outcome, 'reply');
    loaded.resolve();
    assert.equal(saidIn((await read(outcome)).events).text, text);
  });

  test('a slow model that refuses in the stream says why, and hides the key', async () => {
    const { key } = stand.fake;
    const handedOn = Promise.withResolvers<void>();
    const error = { message: `For ${key}, the prompt is too long: 9 tokens > 8 maximum` };
    stand.fake.chat.script(
      streamOf(
        (async function* () {
          yield ': busy\n\n';
          await handedOn.promise;
          yield eventsOf([{ error }]);
        })(),
      ),
    );
    const outcome = await chatWith({}, 0)(callOf(true));
    assert.equal(outcome.outcome, 'reply');
    handedOn.resolve();
    const { events, fault } = await read(outcome);
    assert.deepEqual(events, []);
    assert.ok(fault instanceof ReplyBroken);
    assert.deepEqual(fault.refused, {
      message: 'For ***, the prompt is too long: 9 tokens > 8 maximum',
      refusal: {
        reason: 'messages_too_long',
        param: null,
        window: { limit: 8, given: 9, output: null },
      },
    });
  });

  test("a caller who leaves in mid-stream ends the upstream's call", async () => {
    stand.fake.chat.script(stalled(eventsOf([chunkOf({ content: 'Hel' })], { done: false })));
    const left = stand.fake.chat.abandoned();
    for await (const event of eventsIn(await stream())) {
      assert.equal((event as Json).text, 'Hel');
      break;
    }
    await left;
  });

  test('the signal ends the call of the upstream, streamed or whole', async () => {
    const own = await openStand();
    const abort = new AbortController();
    const left = own.fake.chat.abandoned();
    own.fake.chat.script((call) => {
      assert.equal(call.path, '/v1/chat/completions');
      return streamOf(
        (async function* () {
          yield eventsOf([chunkOf({ content: 'Hel' })], { done: false });
          await left;
        })(),
      );
    });
    const outcome = await own.upstream.chat!(callOf(true, {}, abort.signal));
    const seen = read(outcome);
    abort.abort();
    assert.match((await seen).fault?.message ?? '', /given up/);
    await left;
    const gone = await own.upstream.chat!(callOf(false, {}, abort.signal));
    assert.equal(gone.outcome, 'not_accepted');
    await own.close();
  });
});
