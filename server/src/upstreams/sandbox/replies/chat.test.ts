import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readCompletionsCall } from '../../../core/apis/completions/read-call.ts';
import { gatherReply, type ReplyEvent } from '../../../core/chat/reply.ts';
import type { ChatOutcome } from '../../upstream.ts';
import { createChat } from './chat.ts';
import { countTokens } from './tokens.ts';

type Json = Record<string, any>;

function newChat(speed = Infinity) {
  const chat = createChat(speed);
  const ask = (
    text: string,
    more: Record<string, unknown> = {},
    signal = new AbortController().signal,
  ): Promise<ChatOutcome> => {
    const { stream = false, context_tokens = 131_072, ...body } = more;
    const messages = [{ role: 'user', content: text }];
    const read = readCompletionsCall({ model: 'echo', messages, ...body });
    return chat({
      request_id: 'r1',
      model: 'echo',
      conversation: read.conversation,
      max_tokens: read.max_tokens ?? 4096,
      cacheControl: true,
      context_tokens: Number(context_tokens),
      stream: stream === true,
      hold: () => {},
      inShare: (work) => work(),
      signal,
    });
  };
  return { ask };
}

function eventsIn(outcome: ChatOutcome): AsyncIterable<ReplyEvent> {
  assert.equal(outcome.outcome, 'reply');
  return (outcome as { events: AsyncIterable<ReplyEvent> }).events;
}

const eventsOf = (outcome: ChatOutcome) => Array.fromAsync(eventsIn(outcome));

const textsIn = (events: ReplyEvent[]) =>
  events.flatMap((event) => (event.type === 'text' ? [event.text] : []));

async function replyOf(outcome: ChatOutcome) {
  const events = await eventsOf(outcome);
  const reply = gatherReply();
  for (const event of events) reply.add(event);
  return {
    text: textsIn(events).join(''),
    reason: reply.end()?.reason,
    usage: reply.usage(true) as Json | null,
  };
}

describe('a reply', () => {
  test('says what it is, echoes the question, and is the same every time', async () => {
    const { ask } = newChat();
    const first = await replyOf(await ask('What is a farebox?'));
    assert.match(first.text, /Farebox sandbox/);
    assert.match(first.text, /4 words: "What is a farebox\?"/);
    assert.equal(first.reason, 'stop');
    const again = await replyOf(await newChat().ask('What is a farebox?'));
    assert.equal(again.text, first.text);
    const other = await replyOf(await ask('And what is a turnstile?'));
    assert.notEqual(other.text, first.text);
  });

  test('counts prompt tokens by the documented rule', async () => {
    const { ask } = newChat();
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const messages = [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: [{ type: 'text', text: 'sandbox time' }, picture] },
    ];
    const { usage } = await replyOf(await ask('', { messages }));
    // 4 a message; "Be", "brie" "f"; "sand" "box", "time"; 256 for the picture.
    assert.equal(usage!.prompt_tokens, 4 + 3 + 4 + 3 + 256);
    assert.equal(usage!.total_tokens, usage!.prompt_tokens + usage!.completion_tokens);
  });

  test('stops at max_tokens and says so', async () => {
    const { text, reason, usage } = await replyOf(
      await newChat().ask('hello there', { max_tokens: 5 }),
    );
    assert.equal(reason, 'length');
    assert.equal(usage!.completion_tokens, 5);
    assert.equal(countTokens(text), 5);
  });

  test('ends before a stop text', async () => {
    const { text, reason } = await replyOf(
      await newChat().ask('hello there', { stop: ['You wrote'] }),
    );
    assert.doesNotMatch(text, /You wrote/);
    assert.equal(reason, 'stop');
  });

  test('is JSON where JSON is asked for', async () => {
    const asked = { response_format: { type: 'json_object' } };
    const { text } = await replyOf(await newChat().ask('hello "you"', asked));
    const { sandbox, echo } = JSON.parse(text);
    assert.deepEqual({ sandbox, echo }, { sandbox: true, echo: 'hello "you"' });
  });

  test('has as many words as sandbox:words asks for', async () => {
    const { text } = await replyOf(await newChat().ask('sandbox:words=300'));
    assert.equal(text.split(' ').length, 300);
  });

  test('comes to messages without any text', async () => {
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '' } };
    for (const messages of [
      [{ role: 'user', content: '' }],
      [{ role: 'user', content: [picture] }],
      [{ role: 'assistant', content: null, tool_calls: [call] }],
      [{ role: 'system', content: 'Be brief.' }],
    ]) {
      const { text } = await replyOf(await newChat().ask('', { messages }));
      assert.match(text, /no text/);
    }
  });
});

describe('a stream', () => {
  test('is words, end and usage, and says the same as the reply', async () => {
    const { ask } = newChat();
    const events = await eventsOf(await ask('hello there', { stream: true }));
    const { text, usage } = await replyOf(await ask('hello there'));
    assert.equal(textsIn(events).join(''), text);
    const types = events.map(({ type }) => type);
    assert.deepEqual(types.slice(-2).toSorted(), ['end', 'usage']);
    assert.ok(types.slice(0, -2).every((type) => type === 'text'));
    const told = events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []));
    assert.deepEqual(told, [usage]);
    assert.equal(events.length, usage!.completion_tokens + 2);
  });

  test('ends with length at max_tokens', async () => {
    const outcome = await newChat().ask('hi', { stream: true, max_tokens: 3 });
    const { reason, usage } = await replyOf(outcome);
    assert.equal(reason, 'length');
    assert.equal(usage!.completion_tokens, 3);
  });

  test('throws as soon as the caller gives up', async () => {
    const leave = new AbortController();
    const outcome = await newChat(1).ask('sandbox:words=5000', { stream: true }, leave.signal);
    const seen: ReplyEvent[] = [];
    await assert.rejects(async () => {
      for await (const event of eventsIn(outcome)) {
        seen.push(event);
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
    const seen: ReplyEvent[] = [];
    await assert.rejects(async () => {
      for await (const event of eventsIn(outcome)) seen.push(event);
    }, /broke off/);
    assert.ok(seen.length > 10, `${seen.length} events`);
    assert.ok(seen.every(({ type }) => type === 'text'));
    assert.equal((await newChat().ask('sandbox:break')).outcome, 'unknown');
  });

  test('sandbox:no-usage leaves usage out', async () => {
    const { ask } = newChat();
    assert.equal((await replyOf(await ask('sandbox:no-usage'))).usage, null);
    const events = await eventsOf(await ask('sandbox:no-usage', { stream: true }));
    assert.ok(events.every(({ type }) => type !== 'usage'));
    assert.deepEqual(events.at(-1), { type: 'end', reason: 'stop', stop: null });
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
    await assert.rejects(eventsOf(late));
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
