import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { images, tinyPng } from '../../../../server/test/kit/fake.ts';
import { before, withService } from '../../../../server/test/kit/with-service.ts';
import { delta, openTap, usageChunk } from '../../../../server/test/kit/tap.ts';
import { startAgent, type Agent } from './mcp-kit.ts';

/** `fare mcp` over standard input and output, used by the official client of the protocol. */

let agent: Agent;
after(async () => {
  await agent.close();
  assert.deepEqual(agent.strayed, []);
});
const { service, account } = withService({ running: true });
before(async () => {
  agent = await startAgent(service, account, ['--max-usd', '5']);
});

const cat = { model_id: 'fake/image', input: { prompt: 'a cat' } };

describe('what it offers', () => {
  test('is a list of tools with input and output schemas and true hints', async () => {
    const { tools } = await agent.client.listTools();
    const spends = tools.filter(({ annotations }) => !annotations!.readOnlyHint);
    assert.deepEqual(tools.map(({ name }) => name).sort(), [
      'cancel_request',
      'chat',
      'generate',
      'get_balance',
      'get_model',
      'get_price',
      'get_request',
      'list_models',
      'list_requests',
      'upload_file',
    ]);
    assert.deepEqual(spends.map(({ name }) => name).sort(), [
      'cancel_request',
      'chat',
      'generate',
      'upload_file',
    ]);
    for (const tool of tools) {
      assert.ok(tool.title && tool.description, tool.name);
      assert.equal(tool.inputSchema.type, 'object', tool.name);
      assert.equal(tool.outputSchema?.type, 'object', tool.name);
    }
    assert.match(agent.client.getInstructions()!, /may spend \$5\.00/);
  });

  test('finds models by words and kind, and shows one with its input and an example', async () => {
    const { fields: films } = await agent.use('list_models', { search: 'FAKE film' });
    assert.deepEqual(
      films.models.map(({ id }: { id: string }) => id),
      ['fake/film/text-to-video'],
    );
    const { fields: texts } = await agent.use('list_models', { kind: 'text', limit: 1 });
    assert.equal(texts.models.length, 1);
    assert.equal(texts.total, 2);
    const { fields: model } = await agent.use('get_model', { model_id: 'fake/film/text-to-video' });
    assert.deepEqual(model.price_by_resolution, { '480p': 0.05, '720p': 0.1 });
    assert.equal(model.input_schema.properties.prompt.type, 'string');
    assert.equal(model.example.duration_seconds, 5);
  });

  test('gives the exact price of an input and reserves nothing', async () => {
    const before = await service.transfers();
    const input = { prompt: 'a cat runs', duration_seconds: 2.5, resolution: '720p' };
    const { fields } = await agent.use('get_price', { model_id: 'fake/film/text-to-video', input });
    assert.equal(fields.price_usd, '$0.25');
    assert.equal(fields.price_usd_micro, '250000');
    assert.equal(fields.session.limit_usd, '$5.00');
    assert.equal(await service.transfers(), before);
  });
});

describe('a generation', () => {
  test('gives the image itself, a link, a resource and the charge', async () => {
    const news: string[] = [];
    service.fake.behave.poll = () =>
      news.length > 0
        ? { state: 'done', result: images(1) }
        : { state: 'running', poll_after_ms: 20 };
    const { fields, blocks } = await agent.use(
      'generate',
      { ...cat, max_usd: 0.01 },
      { onprogress: ({ message }) => news.push(message ?? '') },
    );
    service.fake.behave = {};
    assert.equal(fields.status, 'COMPLETED');
    assert.equal(fields.charged_usd, '$0.01');
    assert.equal(fields.charged_usd_micro, '10000');
    assert.deepEqual(fields.output, { seed: 7 });
    assert.ok(
      news.some((each) => /^IN_(QUEUE|PROGRESS)/.test(each)),
      news.join(' | '),
    );

    const uri = `farebox://requests/${fields.request_id}/outputs/0`;
    assert.equal(fields.outputs[0].uri, uri);
    const [image, link] = blocks;
    assert.deepEqual(image, {
      type: 'image',
      mimeType: 'image/png',
      data: tinyPng.toString('base64'),
    });
    assert.ok(link?.type === 'resource_link' && link.uri === uri && link.size === tinyPng.length);
    const { contents } = await agent.client.readResource({ uri });
    assert.deepEqual(contents, [{ uri, mimeType: 'image/png', blob: tinyPng.toString('base64') }]);
    const { resourceTemplates } = await agent.client.listResourceTemplates();
    assert.equal(
      resourceTemplates[0]!.uriTemplate,
      'farebox://requests/{request_id}/outputs/{index}',
    );
    const { resources } = await agent.client.listResources();
    assert.equal(resources[0]!.uri, uri);
    const signed = await fetch(fields.outputs[0].url);
    assert.deepEqual(Buffer.from(await signed.arrayBuffer()), tinyPng);
  });

  test('without an agreed price answers with the price and submits nothing', async () => {
    const before = await service.transfers();
    const none = await agent.refused('generate', cat);
    assert.equal(none.code, 'price_not_agreed');
    assert.match(none.message, /\$0\.01.*max_usd 0\.01/);
    assert.equal(none.details.price_usd_micro, '10000');
    const low = await agent.refused('generate', { ...cat, max_usd: 0.009999 });
    assert.equal(low.code, 'price_not_agreed');
    assert.equal(await service.transfers(), before);
  });

  test('that fails says why, and that nothing was charged', async () => {
    service.fake.behave.poll = () => ({
      state: 'failed',
      code: 'upstream_rejected',
      message: 'No cats.',
    });
    const { available } = await service.balance(account);
    const refusal = await agent.refused('generate', { ...cat, max_usd: 1 });
    service.fake.behave = {};
    assert.equal(refusal.code, 'upstream_rejected');
    assert.match(refusal.message, /nothing was charged.*No cats/i);
    const { fields } = await agent.use('get_request', { request_id: refusal.details.request_id });
    assert.equal(fields.status, 'FAILED');
    assert.equal(fields.error.code, 'upstream_rejected');
    assert.equal((await service.balance(account)).available, available);
  });

  test('that takes long is left with its id, and found again by it', async () => {
    let done = false;
    service.fake.behave.poll = () =>
      done ? { state: 'done', result: images(2) } : { state: 'running', poll_after_ms: 20 };
    const wish = { ...cat, input: { prompt: 'a cat', num_images: 2 }, max_usd: 0.02 };
    const { fields: left } = await agent.use('generate', { ...wish, wait_seconds: 0.2 });
    assert.ok(['IN_QUEUE', 'IN_PROGRESS'].includes(left.status));
    assert.equal(left.charged_usd, null);
    assert.match(left.message, /get_request/);
    done = true;
    const { request_id } = left;
    const { fields, blocks } = await agent.use('get_request', { request_id, wait_seconds: 10 });
    service.fake.behave = {};
    assert.equal(fields.status, 'COMPLETED');
    assert.deepEqual(
      blocks.map(({ type }) => type),
      ['image', 'resource_link', 'image', 'resource_link'],
    );
    assert.equal(service.fake.starts.filter((each) => each.request_id === request_id).length, 1);
  });

  test('of a text model is sent to chat, and of an unknown one to the catalog', async () => {
    for (const input of [{ prompt: 'hi' }, {}, { input_tokens: 1, output_tokens: 1 }]) {
      const chat = await agent.refused('generate', { model_id: 'fake/chat', input, max_usd: 1 });
      assert.deepEqual([chat.code, /tool chat/.test(chat.message)], ['use_chat', true]);
    }
    const wish = { model_id: 'no/such', input: { prompt: 'a cat' }, max_usd: 1 };
    assert.equal((await agent.refused('generate', wish)).code, 'unknown_model');
  });

  test('whose input does not fit is refused by the service, and counts nothing', async () => {
    const { fields: before } = await agent.use('get_balance');
    const wish = { model_id: 'fake/image', input: { prompt: 7 }, max_usd: 1 };
    const refusal = await agent.refused('generate', wish);
    assert.equal(refusal.code, 'invalid_input');
    assert.equal(refusal.details.errors[0].path, '/prompt');
    const { fields: after } = await agent.use('get_balance');
    assert.deepEqual(after.session, before.session);
  });

  test('is not begun by arguments of a wrong type', async () => {
    const before = service.fake.starts.length;
    const params = { name: 'generate', arguments: { ...cat, max_usd: 'a lot' } };
    const { isError, content } = await agent.client.callTool(params);
    assert.equal(isError, true);
    assert.match(JSON.stringify(content), /max_usd/);
    assert.equal(service.fake.starts.length, before);
  });
});

describe('a chat', () => {
  const wish = { model_id: 'fake/chat', messages: [{ role: 'user', content: 'hello' }] };

  test('gives the reply and its cost, which was agreed before', async () => {
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      for (const piece of ['hel', 'lo']) tap.push(delta(piece));
      tap.push(delta(null, 'stop'));
      tap.push(usageChunk(5, 2));
      tap.end();
      return tap.outcome;
    };
    const refusal = await agent.refused('chat', { ...wish, max_tokens: 100 });
    assert.equal(refusal.code, 'price_not_agreed');
    assert.equal(service.fake.chats.length, 0);
    // 5 for the text, 16 for the message, 128 for the call, at a dollar a million; 100 at two
    // dollars.
    assert.equal(refusal.details.price_usd_micro, '349');
    const { fields } = await agent.use('chat', { ...wish, max_tokens: 100, max_usd: 0.000349 });
    service.fake.behave = {};
    assert.equal(fields.text, 'hello');
    assert.equal(fields.finish_reason, 'stop');
    assert.equal(fields.charged_usd_micro, '9');
    assert.equal(fields.prompt_tokens, 5);
    const { fields: card } = await agent.use('get_request', { request_id: fields.request_id });
    assert.equal(card.charged_usd_micro, '9');
  });

  test('that breaks off is an error and counts what was charged', async () => {
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      tap.push(delta('hel'));
      tap.break();
      return tap.outcome;
    };
    const { fields: before } = await agent.use('get_balance');
    const refusal = await agent.refused('chat', { ...wish, max_usd: 1 });
    service.fake.behave = {};
    assert.match(refusal.code, /submit_failed|upstream/);
    const { fields: after } = await agent.use('get_balance');
    const spent = (session: { spent_usd: string }) => Number(session.spent_usd.slice(1));
    const { fields: list } = await agent.use('list_requests', { limit: 1 });
    const charged = Number(list.requests[0].charged_usd.slice(1));
    assert.ok(charged > 0);
    assert.ok(Math.abs(spent(after.session) - spent(before.session) - charged) < 1e-9);
  });
});

describe('the other tools', () => {
  test('requests are listed with their charges, page by page', async () => {
    const { fields } = await agent.use('list_requests', { status: 'COMPLETED', limit: 1 });
    assert.equal(fields.requests.length, 1);
    assert.equal(fields.requests[0].status, 'COMPLETED');
    const cursor = fields.next_cursor;
    const { fields: next } = await agent.use('list_requests', { status: 'COMPLETED', cursor });
    assert.notEqual(next.requests[0].request_id, fields.requests[0].request_id);
  });

  test('the balance is the one of the books', async () => {
    const { fields } = await agent.use('get_balance');
    const { available } = await service.balance(account);
    assert.equal(Math.round(Number(fields.available_usd.slice(1)) * 1e6), Number(available));
    assert.equal(fields.key.limit_usd, null);
  });

  test("another account's requests are not found", async () => {
    const other = await service.account();
    const body = { prompt: 'a cat' };
    const submitted = await other.post('/v1/queue/fake/image', body);
    const { request_id } = submitted.body;
    assert.equal((await agent.refused('get_request', { request_id })).code, 'not_found');
    const uri = `farebox://requests/${request_id}/outputs/0`;
    await assert.rejects(agent.client.readResource({ uri }));
    const uriOfNone = 'farebox://requests/../../balance/outputs/0';
    await assert.rejects(agent.client.readResource({ uri: uriOfNone }));
  });

  test('a wrong key gets an error that says what to do and does not show the key', async () => {
    const key = `${account.key.slice(0, -1)}${account.key.endsWith('a') ? 'b' : 'a'}`;
    const stranger = await startAgent(service, account, [], { key });
    const refusal = await stranger.refused('get_balance');
    assert.equal(refusal.code, 'unauthorized');
    const said = JSON.stringify([refusal, stranger.stderr()]);
    assert.ok(!said.includes(key) && !said.includes(key.slice(4, 20)), said);
    await stranger.close();
  });
});
