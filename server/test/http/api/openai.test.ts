import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { completion } from '../../kit/fake.ts';
import type { Service } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { delta, openTap, usageChunk } from '../../kit/tap.ts';
import { traces } from '../../kit/traces.ts';

/** The stock OpenAI client, with nothing changed but its base address and its key. */

const { service, account } = withService();

interface Client {
  client: OpenAI;
  /** Statuses of the replies so far, one for each call that was really made. */
  replies: number[];
}

function connect(options: ConstructorParameters<typeof OpenAI>[0] = {}): Client {
  const replies: number[] = [];
  const client = new OpenAI({
    baseURL: `${service.base}/v1`,
    apiKey: account.key,
    fetch: async (...args) => {
      const reply = await fetch(...args);
      replies.push(reply.status);
      return reply;
    },
    ...options,
  });
  return { client, replies };
}

const params = {
  model: 'fake/chat',
  messages: [{ role: 'user' as const, content: 'hello' }],
  max_tokens: 100,
};

describe('the stock client', () => {
  test('lists the models and reads one whose id has slashes', async () => {
    const { client } = connect();
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(`${model.object} ${model.id}`);
    assert.ok(ids.includes('model fake/chat') && ids.includes('model fake/film/text-to-video'));
    const one = await client.models.retrieve('fake/drain/chat');
    assert.equal(one.id, 'fake/drain/chat');
    assert.equal(one.owned_by, 'fake');
    assert.equal(typeof one.created, 'number');
  });

  test('completes a chat', async () => {
    const { client, replies } = connect();
    const { data, response } = await client.chat.completions.create(params).withResponse();
    assert.equal(data.choices[0]!.message.content, 'hello');
    assert.equal(data.choices[0]!.finish_reason, 'stop');
    assert.equal(data.usage!.total_tokens, 7);
    assert.equal((data.usage as any).cost_usd_micro, '9');
    assert.equal(response.headers.get('x-charge-usd-micro'), '9');
    assert.match((data as any)._request_id, /^req_/);
    assert.deepEqual(replies, [200]);
  });

  test('streams a chat, with its usage at the end', async () => {
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      const first = delta('');
      tap.push({
        ...first,
        choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
      });
      for (const piece of ['hel', 'lo']) tap.push(delta(piece));
      tap.push(delta(null, 'stop'));
      tap.push(usageChunk(5, 2));
      tap.end();
      return tap.outcome;
    };
    const { client } = connect();
    const options = { stream: true as const, stream_options: { include_usage: true } };
    const stream = await client.chat.completions.create({ ...params, ...options });
    const usages: unknown[] = [];
    let text = '';
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usages.push(chunk.usage);
    }
    assert.equal(text, 'hello');
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, cost_usd_micro: '9' };
    assert.deepEqual(usages, [null, null, null, usage]);
    const helped = await client.chat.completions
      .stream({ ...params, ...options })
      .finalChatCompletion();
    assert.equal(helped.choices[0]!.message.content, 'hello');
    service.fake.behave = {};
  });

  test('meets a fault in mid-stream as an error of its own', async () => {
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      tap.push(delta('hel'));
      tap.break();
      return tap.outcome;
    };
    const { client, replies } = connect();
    const stream = await client.chat.completions.create({ ...params, stream: true });
    service.fake.behave = {};
    let text = '';
    const read = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    };
    await assert.rejects(
      read,
      (error) => error instanceof OpenAI.APIError && error.code === 'submit_failed',
    );
    assert.equal(text, 'hel');
    assert.deepEqual(replies, [200]);
  });

  test('may send the key in the form of our own', async () => {
    const defaultHeaders = { Authorization: `Key ${account.key}` };
    const { client } = connect({ apiKey: 'unused', defaultHeaders });
    const reply = await client.chat.completions.create(params);
    assert.equal(reply.choices[0]!.message.content, 'hello');
  });
});

describe('the stock client meets each refusal as its own class, and repeats only what is worth it', () => {
  interface Refusal {
    name: string;
    run: (client: OpenAI) => Promise<unknown>;
    options?: () => Promise<ConstructorParameters<typeof OpenAI>[0]>;
    error: abstract new (...args: any[]) => InstanceType<typeof OpenAI.APIError>;
    code: string;
    param?: string | null;
    replies: number[];
  }
  const complete = (client: OpenAI) => client.chat.completions.create(params);
  const keyOf = (limits: Parameters<Service['account']>[0]) => async () => ({
    apiKey: (await service.account(limits)).key,
  });

  const refusals: Refusal[] = [
    {
      name: 'a wrong key',
      run: complete,
      options: async () => ({ apiKey: 'fbx_no' }),
      error: OpenAI.AuthenticationError,
      code: 'unauthorized',
      replies: [401],
    },
    {
      name: 'no balance',
      run: complete,
      options: keyOf({ usd: 0 }),
      error: OpenAI.APIError,
      code: 'insufficient_balance',
      replies: [402],
    },
    {
      name: 'a spent limit',
      run: complete,
      options: keyOf({ monthly_limit_usd_micro: 1n }),
      error: OpenAI.APIError,
      code: 'key_limit_reached',
      replies: [402],
    },
    {
      name: 'bad messages',
      run: (client) => client.chat.completions.create({ ...params, messages: [] }),
      error: OpenAI.BadRequestError,
      code: 'bad_messages',
      param: 'messages',
      replies: [400],
    },
    {
      name: 'an unknown model',
      run: (client) => client.chat.completions.create({ ...params, model: 'gpt-4o' }),
      error: OpenAI.BadRequestError,
      code: 'unknown_model',
      param: 'model',
      replies: [400],
    },
    {
      name: 'an address we do not have',
      run: (client) => client.embeddings.create({ model: 'x', input: 'x' }),
      error: OpenAI.NotFoundError,
      code: 'not_found',
      replies: [404],
    },
    {
      name: 'a used Idempotency-Key',
      run: async (client) => {
        const headers = { 'Idempotency-Key': 'used' };
        await account.post('/v1/chat/completions', { ...params, max_tokens: 7 }, { headers });
        return client.chat.completions.create(params, { headers });
      },
      error: OpenAI.ConflictError,
      code: 'idempotency_conflict',
      replies: [409],
    },
    {
      name: 'too many calls',
      run: async (client) => {
        await client.models.list();
        await complete(client);
        return complete(client);
      },
      options: async () => ({ ...(await keyOf({ rpm: 1 })()), maxRetries: 0 }),
      error: OpenAI.RateLimitError,
      code: 'rate_limited',
      replies: [200, 200, 429],
    },
  ];
  for (const {
    name,
    run,
    options,
    error: wanted,
    code,
    param = null,
    replies: expected,
  } of refusals) {
    test(`${name}: ${wanted.name} ${code}`, async () => {
      const { client, replies } = connect(await options?.());
      const error = await run(client).then(
        () => assert.fail('it was not refused'),
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof OpenAI.APIError, String(error));
      assert.ok(error instanceof wanted, error.constructor.name);
      assert.equal(error.status, expected.at(-1));
      assert.equal(error.code, code);
      assert.equal(error.param, param);
      assert.match(error.requestID ?? '', /^req_/);
      assert.deepEqual(replies, expected);
    });
  }

  test('no capacity: it waits as long as it is told, repeats, and pays once', async () => {
    let calls = 0;
    service.fake.behave.chat = () =>
      ++calls === 1
        ? { outcome: 'not_accepted', message: 'busy', retry_after_ms: 900 }
        : {
            outcome: 'reply',
            reply: completion('at last', { prompt_tokens: 5, completion_tokens: 2 }),
          };
    const { client, replies } = connect();
    const earlier = await service.balance(account);
    const begun = performance.now();
    const reply = await client.chat.completions.create(params);
    service.fake.behave = {};
    assert.ok(performance.now() - begun >= 990, 'it came back too early');
    assert.equal(reply.choices[0]!.message.content, 'at last');
    assert.deepEqual(replies, [503, 200]);
    assert.deepEqual(await service.balance(account), {
      available: earlier.available - 9n,
      reserved: 0n,
    });
  });

  test('a refusal before the reservation leaves nothing', async () => {
    const { client } = connect();
    const earlier = await traces(service);
    await assert.rejects(
      client.chat.completions.create({ ...params, n: 2 }),
      OpenAI.BadRequestError,
    );
    assert.deepEqual(await traces(service), earlier);
  });
});
