import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatOutcome } from '../../upstream.ts';
import { createChat } from './chat.ts';
import { countTokens } from './tokens.ts';

type Chunk = Record<string, any>;

function newChat(speed = Infinity) {
  const chat = createChat(speed);
  const ask = (
    text: string,
    more: Record<string, unknown> = {},
    signal = new AbortController().signal,
  ): Promise<ChatOutcome> => {
    const { stream = false, context_tokens = 131_072, ...body } = more;
    const messages = [{ role: 'user', content: text }];
    const call = { request_id: 'r1', model: 'echo', body: { messages, max_tokens: 4096, ...body } };
    const window = Number(context_tokens);
    const hold = () => {};
    return chat({ ...call, context_tokens: window, stream: stream === true, hold, signal });
  };
  return { ask };
}

function replyOf(outcome: ChatOutcome): Chunk {
  assert.equal(outcome.outcome, 'reply');
  return (outcome as { reply: Chunk }).reply;
}

async function chunksOf(outcome: ChatOutcome): Promise<Chunk[]> {
  assert.equal(outcome.outcome, 'stream');
  return Array.fromAsync((outcome as { chunks: AsyncIterable<Chunk> }).chunks);
}

const textOf = (chunks: Chunk[]): string =>
  chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');

describe('a reply', () => {
  test('says what it is, echoes the question, and is the same every time', async () => {
    const { ask } = newChat();
    const first = replyOf(await ask('What is a farebox?'));
    const text = first.choices[0].message.content;
    assert.match(text, /Farebox sandbox/);
    assert.match(text, /4 words: "What is a farebox\?"/);
    assert.equal(first.object, 'chat.completion');
    assert.equal(first.choices[0].finish_reason, 'stop');
    const again = replyOf(await newChat().ask('What is a farebox?'));
    assert.equal(again.choices[0].message.content, text);
    const other = replyOf(await ask('And what is a turnstile?'));
    assert.notEqual(other.choices[0].message.content, text);
  });

  test('counts prompt tokens by the documented rule', async () => {
    const { ask } = newChat();
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const messages = [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: [{ type: 'text', text: 'sandbox time' }, picture] },
    ];
    const { usage } = replyOf(await ask('', { messages }));
    // 4 a message; "Be", "brie" "f"; "sand" "box", "time"; 256 for the picture.
    assert.equal(usage.prompt_tokens, 4 + 3 + 4 + 3 + 256);
    assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  });

  test('stops at max_tokens and says so', async () => {
    const reply = replyOf(await newChat().ask('hello there', { max_tokens: 5 }));
    assert.equal(reply.choices[0].finish_reason, 'length');
    assert.equal(reply.usage.completion_tokens, 5);
    assert.equal(countTokens(reply.choices[0].message.content), 5);
  });

  test('ends before a stop text', async () => {
    const reply = replyOf(await newChat().ask('hello there', { stop: ['You wrote'] }));
    assert.doesNotMatch(reply.choices[0].message.content, /You wrote/);
    assert.equal(reply.choices[0].finish_reason, 'stop');
  });

  test('is JSON where JSON is asked for', async () => {
    const asked = { response_format: { type: 'json_object' } };
    const reply = replyOf(await newChat().ask('hello "you"', asked));
    const { sandbox, echo } = JSON.parse(reply.choices[0].message.content);
    assert.deepEqual({ sandbox, echo }, { sandbox: true, echo: 'hello "you"' });
  });

  test('has as many words as sandbox:words asks for', async () => {
    const reply = replyOf(await newChat().ask('sandbox:words=300'));
    assert.equal(reply.choices[0].message.content.split(' ').length, 300);
  });

  test('survives messages of any shape', async () => {
    for (const messages of [
      undefined,
      'text',
      [null, 7, {}],
      [{ role: 'user', content: [null] }],
    ]) {
      const reply = replyOf(await newChat().ask('', { messages }));
      assert.match(reply.choices[0].message.content, /no text/);
    }
  });
});

describe('a stream', () => {
  test('is role, words, end and usage, and says the same as the reply', async () => {
    const { ask } = newChat();
    const chunks = await chunksOf(await ask('hello there', { stream: true }));
    const reply = replyOf(await ask('hello there'));
    assert.equal(textOf(chunks), reply.choices[0].message.content);
    assert.deepEqual(chunks[0]!.choices[0].delta, { role: 'assistant', content: '' });
    assert.equal(chunks.at(-2)!.choices[0].finish_reason, 'stop');
    assert.deepEqual(chunks.at(-1)!.choices, []);
    assert.deepEqual(chunks.at(-1)!.usage, reply.usage);
    const early = chunks.slice(0, -2);
    assert.ok(early.every((chunk) => chunk.choices[0].finish_reason === null && !chunk.usage));
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    assert.equal(chunks.length, reply.usage.completion_tokens + 3);
  });

  test('ends with length at max_tokens', async () => {
    const chunks = await chunksOf(await newChat().ask('hi', { stream: true, max_tokens: 3 }));
    assert.equal(chunks.at(-2)!.choices[0].finish_reason, 'length');
    assert.equal(chunks.at(-1)!.usage.completion_tokens, 3);
  });

  test('throws as soon as the caller gives up', async () => {
    const leave = new AbortController();
    const outcome = await newChat(1).ask('sandbox:words=5000', { stream: true }, leave.signal);
    const seen: Chunk[] = [];
    await assert.rejects(async () => {
      for await (const chunk of (outcome as { chunks: AsyncIterable<Chunk> }).chunks) {
        seen.push(chunk);
        if (seen.length === 3) leave.abort(new Error('left'));
      }
    }, /left/);
    assert.equal(seen.length, 3);
  });
});

test('a prompt beyond the window is refused, with its size; one that fills it is not', async () => {
  const { ask } = newChat();
  const five = 'abcd '.repeat(5);
  assert.equal((await ask(five, { context_tokens: 9 })).outcome, 'reply');
  for (const stream of [false, true]) {
    const outcome = await ask(five, { context_tokens: 8, stream });
    assert.equal(outcome.outcome, 'rejected');
    assert.match((outcome as { message: string }).message, /have more than 8 tokens/);
  }
});

describe('faults on request', () => {
  const refused: [words: string, outcome: string][] = [
    ['sandbox:fail', 'unknown'],
    ['sandbox:lost', 'unknown'],
    ['sandbox:reject', 'rejected'],
    ['sandbox:busy', 'not_accepted'],
  ];
  for (const [words, expected] of refused) {
    test(`${words} is ${expected}, streamed or not`, async () => {
      const { ask } = newChat();
      assert.equal((await ask(words)).outcome, expected);
      assert.equal((await ask(words, { stream: true })).outcome, expected);
    });
  }

  test('sandbox:busy says when to come back', async () => {
    const outcome = await newChat().ask('sandbox:busy');
    assert.ok((outcome as { retry_after_ms: number }).retry_after_ms > 0);
  });

  test('sandbox:break ends a stream half-way, without end or usage', async () => {
    const outcome = await newChat().ask('sandbox:break sandbox:words=40', { stream: true });
    const seen: Chunk[] = [];
    await assert.rejects(async () => {
      for await (const chunk of (outcome as { chunks: AsyncIterable<Chunk> }).chunks)
        seen.push(chunk);
    }, /broke off/);
    assert.ok(seen.length > 10, `${seen.length} chunks`);
    assert.ok(seen.every((chunk) => !chunk.usage && chunk.choices[0].finish_reason === null));
    assert.equal((await newChat().ask('sandbox:break')).outcome, 'unknown');
  });

  test('sandbox:no-usage leaves usage out', async () => {
    const { ask } = newChat();
    assert.equal(replyOf(await ask('sandbox:no-usage')).usage, undefined);
    const chunks = await chunksOf(await ask('sandbox:no-usage', { stream: true }));
    assert.ok(chunks.every((chunk) => !chunk.usage));
    assert.equal(chunks.at(-1)!.choices[0].finish_reason, 'stop');
  });

  test('sandbox:slow waits before the first word, however fast the sandbox', async () => {
    const from = performance.now();
    await newChat().ask('sandbox:slow=0.15');
    assert.ok(performance.now() - from >= 145);
  });

  test('sandbox:hang says nothing until the caller gives up', async () => {
    const leave = new AbortController();
    const waiting = newChat().ask('sandbox:hang', {}, leave.signal);
    const first = await Promise.race([
      waiting,
      new Promise((done) => setTimeout(done, 30, 'none')),
    ]);
    assert.equal(first, 'none');
    leave.abort();
    assert.equal((await waiting).outcome, 'unknown');
    const late = await newChat().ask('sandbox:hang', { stream: true }, AbortSignal.timeout(20));
    await assert.rejects(chunksOf(late));
  });

  test('only the last user message is read for them', async () => {
    const messages = [
      { role: 'user', content: 'sandbox:fail' },
      { role: 'assistant', content: 'sandbox:fail' },
      { role: 'user', content: 'all well?' },
    ];
    assert.equal((await newChat().ask('', { messages })).outcome, 'reply');
  });
});
