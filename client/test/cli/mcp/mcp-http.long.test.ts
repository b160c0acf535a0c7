import { spawn, type ChildProcess } from 'node:child_process';
import { request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  startService,
  type Service,
  type TestAccount,
} from '../../../../server/test/kit/service.ts';
import { until } from '../../../../server/test/kit/until.ts';
import { commandOf, createAgent, type Agent, type AgentOptions } from './mcp-kit.ts';

/** `fare mcp --http`: Streamable HTTP, and its protection. */

let service: Service;
let account: TestAccount;
let child: ChildProcess;
let url: URL;
let token: string;
let stderr = '';
before(async () => {
  service = await startService();
  account = await service.account();
  const flags = ['--http', String(await freePort()), '--max-usd', '0.03'];
  const { command, args, env } = commandOf(service, account.key, flags);
  child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stderr!.on('data', (chunk) => (stderr += String(chunk)));
  const said = await until(
    'it listens',
    () => /listens at (\S+)[\s\S]*Bearer (\S+)\n/.exec(stderr),
    15_000,
  );
  url = new URL(said[1]!);
  token = said[2]!;
});
after(async () => {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  assert.equal(await ended, 0, stderr);
  assert.ok(!stderr.includes(account.key));
  await service.audit();
  await service.stop();
});

function freePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

async function connect(options: AgentOptions = {}): Promise<Agent> {
  const agent = createAgent(options);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await agent.client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return agent;
}

/** A call as from a page or a program, with headers that fetch does not allow. */
function knock(headers: Record<string, string>, path = '/mcp', body = '{}'): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', path, headers }, (reply) => {
      reply.resume();
      resolve(reply.statusCode!);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

describe('who may call', () => {
  test('has the token, and calls from this machine', async () => {
    assert.equal(url.hostname, '127.0.0.1');
    assert.ok(token.length >= 32);
    assert.equal(await knock({}), 401);
    assert.equal(await knock({ authorization: `Bearer ${token.slice(1)}` }), 401);
    assert.equal(await knock({ authorization: token }), 401);
    assert.equal(await knock({ authorization: `Bearer ${account.key}` }), 401);
    assert.equal(await knock({ authorization: `Bearer ${token}` }, '/'), 404);
  });

  test('is not a web page, even with a name that points here or with the token', async () => {
    const authorization = `Bearer ${token}`;
    assert.equal(await knock({ authorization, host: 'evil.example' }), 403);
    assert.equal(await knock({ authorization, host: `evil.example:${url.port}` }), 403);
    assert.equal(await knock({ authorization, origin: 'https://evil.example' }), 403);
    assert.equal(await knock({ authorization, origin: 'null' }), 403);
    assert.equal(await knock({ authorization, origin: `http://localhost:1` }), 403);
    // The server is reached by name and by address.
    const accepted = { authorization, host: `localhost:${url.port}` };
    assert.ok((await knock(accepted)) !== 403);
  });

  test('has to begin a session; an unknown session gets an error that says so', async () => {
    const authorization = `Bearer ${token}`;
    const headers = {
      authorization,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    };
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    assert.equal(await knock(headers, '/mcp', list), 400);
    assert.equal(await knock({ ...headers, 'mcp-session-id': 'x' }, '/mcp', list), 404);
    assert.equal(await knock(headers, '/mcp', 'no json'), 400);
  });
});

test('if programs do not end their sessions, the one that is silent longest ends', async () => {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
  const post = (body: object, id?: string) =>
    fetch(url, {
      method: 'POST',
      headers: { ...headers, ...(id && { 'mcp-session-id': id }) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    });
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const begin = async () => {
    const reply = await post({ method: 'initialize', params });
    await reply.text();
    return reply.headers.get('mcp-session-id')!;
  };
  const statusOf = async (id: string) => {
    const reply = await post({ method: 'ping' }, id);
    await reply.text();
    return reply.status;
  };
  const [first, second] = [await begin(), await begin()];
  for (let i = 0; i < 30; i++) await begin();
  assert.equal(await statusOf(first), 200);
  await begin();
  assert.equal(await statusOf(second), 404);
  assert.equal(await statusOf(first), 200);
});

describe('sessions', () => {
  const cat = { model_id: 'fake/image', input: { prompt: 'a cat' }, max_usd: 0.01 };

  test("share the person's limit, so that a new session brings no new money", async () => {
    const [one, two] = [await connect(), await connect()];
    for (const agent of [one, two, one]) await agent.use('generate', { ...cat, wait_seconds: 0 });
    assert.equal((await two.refused('generate', cat)).code, 'session_limit_reached');
    const three = await connect();
    assert.equal((await three.refused('generate', cat)).code, 'session_limit_reached');
    for (const agent of [one, two, three]) {
      assert.deepEqual(agent.strayed, []);
      await agent.close();
    }
    // Leaves no open request to later tests.
    const { body } = await service.call('GET', '/v1/requests', { key: account.key });
    for (const { request_id } of body.data) {
      await service.call('POST', `/v1/requests/${request_id}/cancel`, { key: account.key });
    }
  });

  test('wait with progress, ask the person, and read what was made', async () => {
    const agent = await connect({ answer: 'accept' });
    const news: string[] = [];
    const onprogress = ({ message = '' }) => void news.push(message);
    const call = agent.use('generate', cat, { onprogress });
    await until('it waits', () => news.length > 0);
    await service.work();
    await service.wakeAll();
    await service.work();
    const { fields } = await call;
    assert.equal(fields.status, 'COMPLETED');
    assert.equal(agent.asked.length, 1);
    const { contents } = await agent.client.readResource({ uri: fields.outputs[0].uri });
    assert.equal(contents[0]!.mimeType, 'image/png');
    await agent.close();
  });

  test('of a cancelled call get its message on the stream that stays', async () => {
    const agent = await connect();
    const stop = new AbortController();
    const call = agent.use('generate', cat, { signal: stop.signal });
    const queued = async () =>
      (await service.call('GET', '/v1/requests?status=IN_QUEUE', { key: account.key })).body
        .data[0];
    const { request_id } = await until('it is submitted', queued);
    stop.abort();
    await assert.rejects(call);
    const [note] = await until('it is told', () => agent.told.length > 0 && agent.told);
    assert.match(String(note!.data), new RegExp(`${request_id} was cancelled`));
    assert.equal((await service.balance(account)).reserved, 0n);
    await agent.close();
  });
});
