import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { findOperation } from '../kit/openapi.ts';
import type { Reply, Service } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';

/** A refusal says what was likely meant. */

const { service, account } = withService();

const get = (path: string, authorization?: string): Promise<Reply> =>
  service.call('GET', path, { headers: authorization === undefined ? {} : { authorization } });

describe('a key that is refused', () => {
  const cases: [name: string, header: (key: string) => string, says: RegExp][] = [
    ['cut off', (key) => `Key ${key.slice(0, -3)}`, /mistyped or incomplete/],
    ['mistyped', (key) => `Bearer ${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`, /mistyped/],
    ['of another service', () => 'Bearer sk-1234', /not a key of this service.*fbx_/],
    ['without a scheme', (key) => key, /no scheme\. Write the word Key/],
    [
      'of an example',
      () => 'Key fbx_...',
      /^fbx_\.\.\. is only a placeholder: put your own key there/,
    ],
    ['with the scheme of others', (key) => `Token ${key}`, /must be Key or Bearer/],
    ['with a scheme of its name', (key) => `ApiKey ${key}`, /must be Key or Bearer/],
    ['with another scheme', () => 'Basic YTpi', /must be Key or Bearer/],
    ['empty', () => 'Key', /Send a valid key as/],
  ];
  for (const [name, header, says] of cases) {
    test(name, async () => {
      const reply = await get('/v1/balance', header(account.key));
      assert.equal(reply.body.error.code, 'unauthorized');
      assert.match(reply.body.error.message, says);
      assert.ok(!reply.text.includes(account.key.slice(4, -4)));
    });
  }
});

describe('an address that is not there', () => {
  const cases: [path: string, says: RegExp][] = [
    ['/chat/completions', /Did you mean \/v1\/chat\/completions\?/],
    ['/v1/v1/chat/completions', /Did you mean \/v1\/chat\/completions\?/],
    ['/v1/chat/completion', /Did you mean \/v1\/chat\/completions\?/],
    ['/v1/model', /Did you mean \/v1\/models\?/],
    ['/queue/fake/image', /Did you mean \/v1\/queue\/fake\/image\?/],
    ['/responses', /Did you mean \/v1\/responses\?/],
    ['/v1/responses/resp_1', /responses are not stored\. .* POST \/v1\/responses/],
    ['/v1/responses/resp_1/cancel', /responses are not stored/],
    ['/v1/responses/input_tokens', /POST \/v1\/messages\/count_tokens counts tokens/],
    ['/v1/conversations', /conversations are not stored/],
    ['/conversations/conv_1/items', /conversations are not stored/],
    ['/v1/chat/completions/chatcmpl-1', /not stored\. GET \/v1\/requests/],
    ['/v1/uploads/upload_1/parts', /POST \/v1\/files takes a file in one piece/],
    ['/v1/vector_stores', /into its messages: POST \/v1\/chat\/completions/],
    ['/v1/fine_tuning/jobs', /models cannot be trained\. Text models answer at/],
    ['/v1/audio/speech', /speech .* not sold\. Text models answer at/],
    ['/v1/realtime/client_secrets', /POST \/v1\/chat\/completions with "stream": true/],
    ['/v1/threads/thread_1/runs', /threads are not stored.*POST \/v1\/responses/],
    ['/v1/credits', /GET \/v1\/balance/],
    ['/v1/key', /GET \/v1\/balance/],
    ['/v1/generation', /GET \/v1\/requests\/\{request_id\}/],
    ['/v1/organization/costs', /GET \/v1\/usage/],
    ['/v1/files/file_1/content', /GET \/v1\/files\/\{file_id\} gives the bytes/],
    ['/v1/messages/batches', /is not offered; use POST \/v1\/messages/],
    ['/v1/v1/messages', /Did you mean \/v1\/messages\?/],
    ['/v1/images/variations', /is not offered; use POST \/v1\/images\/edits/],
    ['/v1/videos/video_1/remix', /is not offered; POST \/v1\/videos makes a video/],
    ['/v1/embeddings', /\/v1\/embeddings is not offered; .* Text models answer at POST/],
    ['/v1/keyboards', /There is nothing at/],
    ['/v1', /\/v1 is the base address\. GET \/v1\/models lists the models/],
    ['/v1/', /is the base address/],
    ['/v1//', /is the base address/],
    ['/v1/v1', /is the base address/],
    ['/v1/nowhere/at/all', /There is nothing at .* lists the routes\./],
  ];
  for (const [path, says] of cases) {
    test(path, async () => {
      const reply = await account.post(path, {});
      assert.equal(reply.status, 404);
      assert.match(reply.body.error.message, says);
      for (const [, method, offer] of reply.text.matchAll(
        /(GET|POST) (\/v1\/[\w/{}]+)(?!\.json|\w)/g,
      )) {
        const found = findOperation(method!, offer!.replace(/[{}]/g, ''));
        assert.notEqual(typeof found, 'string', `${method} ${offer} is not in the document`);
      }
    });
  }

  const wrongMethods: [method: string, path: string, says: RegExp][] = [
    ['GET', '/v1/files', /only POST\. GET \/v1\/files is not offered; files are not listed/],
    ['DELETE', '/v1/files/file_1', /only GET, HEAD\. DELETE .* its expires_at/],
    ['GET', '/v1/responses', /only POST\. GET \/v1\/responses .* not stored/],
    ['GET', '/v1/chat/completions', /only POST\. GET .* not stored/],
    ['DELETE', '/v1/models/fake/image', /^This address supports only GET, HEAD\.$/],
  ];
  for (const [method, path, says] of wrongMethods)
    test(`but is there for another method: ${method} ${path}`, async () => {
      const reply = await service.call(method, path, { key: account.key });
      assert.equal(reply.status, 405);
      assert.match(reply.body.error.message, says);
      assert.ok(reply.headers.get('allow'));
    });

  test('a slash at the end changes nothing', async () => {
    const read = async (path: string) => (await fetch(service.base + path)).json() as any;
    assert.equal((await read('/v1/models/')).object, 'list');
    assert.equal((await read('/v1/models/fake/image/')).id, 'fake/image');
  });
});

test('the list of models can be filtered by kind', async () => {
  const { body } = await get('/v1/models?kind=text');
  assert.deepEqual([...new Set(body.data.map(({ kind }: any) => kind))], ['text']);
  assert.equal((await get('/v1/models?kind=sound')).body.error.param, 'kind');
});

describe('a misspelt model id', () => {
  const near = (reply: Reply, id: string) => {
    assert.match(reply.body.error.message, new RegExp(`Did you mean ${id}\\?`));
    assert.equal(reply.body.error.details.did_you_mean, id);
  };
  const post = (path: string, body: object) => account.post(path, body);
  const film = 'fake/film/text-to-video';
  test('in each call that names one', async () => {
    near(await get('/v1/models/fake/film'), film);
    near(await post('/v1/queue/fake/flim/text-to-video', { prompt: 'x' }), film);
    near(await post('/v1/estimate', { model_id: 'fake/film', input: {} }), film);
    const messages = [{ role: 'user', content: 'x' }];
    near(await post('/v1/chat/completions', { model: 'fake/chatt', messages }), 'fake/chat');
    const none = await get('/v1/models/claude');
    assert.doesNotMatch(none.body.error.message, /Did you mean/);
  });
});

describe('an amount that does not cover the price', () => {
  const submit = async (limits: Parameters<Service['account']>[0]) => {
    const { key } = await service.account(limits);
    const body = { prompt: 'x', num_images: 2 };
    return (await service.call('POST', '/v1/queue/fake/image', { key, body })).body.error;
  };
  test('the balance, with amounts', async () => {
    const { message } = await submit({ usd: 0.015 });
    assert.match(
      message,
      /^Not enough balance: this call reserves \$0\.02, but only \$0\.015 is available\. Top up and/,
    );
  });
  test("the key's limit, with amounts", async () => {
    const { message } = await submit({ monthly_limit_usd_micro: 5_000n });
    assert.match(message, /reserves \$0\.02, but only \$0\.005 is left of .* limit of \$0\.005\./);
  });
});
