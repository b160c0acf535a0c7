import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { audit } from '../../src/ledger/audit.ts';
import { fieldOf } from '../../src/lib/unknown.ts';
import { until } from '../kit/until.ts';
import { assertSaid, call, farebox, placeFor, untilReady, type RunningService } from './cli.ts';
import { isAlive, openCompany, type Company } from './serve-kit.ts';

/** `serve --processes`: one address, several processes. */

let company: Company;
before(async () => {
  company = await openCompany();
  Object.assign(company.env, { FAREBOX_RPM: '1000000', FAREBOX_OPEN_JOBS: '100000' });
});
after(() => company.database.close());

const two = ['serve', '--processes', '2'];

test('the figures of all processes are read at once, and each line of the log has its process', async (t) => {
  const service = await placeFor(t, company.env).start(two);
  assert.equal(service.said.processes.length, 2);
  const figures = await figuresOf(service);
  const inFlight = figures.match(/^farebox_in_flight_calls.*$/gm);
  // The call that asks is in one of them.
  assert.deepEqual(inFlight?.map((line) => line.slice(0, -2)).toSorted(), [
    'farebox_in_flight_calls{process="1"}',
    'farebox_in_flight_calls{process="2"}',
  ]);
  assert.equal(figures.match(/^# HELP farebox_in_flight_calls /gm)?.length, 1);
  assert.match(figures, /^farebox_processes\{state="wanted"\} 2$/m);
  assert.match(figures, /^farebox_processes\{state="answering"\} 2$/m);
  assert.match(figures, /^farebox_processes_lost_total 0$/m);
  assert.match(figures, /^farebox_books_ok\{process="1"\} /m);
  assert.equal((await service.end('SIGTERM')).code, 0, service.stderr());
  const started = linesOf(service).filter(({ msg }) => msg === 'started');
  assert.deepEqual(started.map(({ process }) => process).toSorted(), [1, 2]);
  assert.equal(service.said.processes.some(isAlive), false);
});

test('when one process is killed, callers at the other notice nothing, and it is replaced', async (t) => {
  const service = await placeFor(t, company.env).start(two);
  const callers = Array.from({ length: 6 }, () => openCaller(t, service, company.key));
  const used = () => {
    const processes = processOfCalls(service);
    return new Set(callers.map(({ newest }) => processes.get(newest())));
  };
  await until('both processes serve callers', () => used().has(1) && used().has(2));
  // While it stands still it is given connections, and reads nothing of them.
  process.kill(service.said.processes[0], 'SIGSTOP');
  const waiting = Array.from({ length: 4 }, () => onItsOwn(`${service.base}/livez`));
  await Promise.any(waiting);
  process.kill(service.said.processes[0], 'SIGKILL');
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 200);
  await until('another process serves', () => serves(service, 3));
  const before = callers.map(({ done }) => done());
  await until('all callers go on', () => callers.every(({ done }, i) => done() > before[i]! + 2));
  const ended = await Promise.all(callers.map(({ end }) => end()));
  const figures = await figuresOf(service);
  assert.match(figures, /^farebox_processes\{state="answering"\} 2$/m);
  assert.match(figures, /^farebox_processes_lost_total 1$/m);
  const lost = linesOf(service).filter(({ msg }) => msg === 'process ended by itself');
  assert.deepEqual(
    lost.map(({ process, signal }) => [process, signal]),
    [[1, 'SIGKILL']],
  );
  assert.equal((await service.end('SIGTERM')).code, 0, service.stderr());
  const processes = processOfCalls(service);
  for (const { failed } of ended) {
    assert.ok(failed.length <= 1, JSON.stringify(failed));
    // The killed process may not have written its last lines.
    for (const { after } of failed)
      assert.notEqual(processes.get(after), 2, 'of the other process');
  }
  assert.ok(ended.some(({ failed }) => failed.length === 0));
  assert.deepEqual((await audit(company.database.db)).violations, []);
});

test('SIGHUP replaces the processes one by one: no call fails, and streams go on to their end', async (t) => {
  const words = await openWords();
  t.after(words.close);
  const place = placeFor(t, { ...company.env, WORDS_KEY: 'a key' });
  fs.writeFileSync(path.join(place.dir, '../catalog/words.yaml'), words.catalog);
  const service = await place.start(two);
  const [first, second] = service.said.processes as [number, number];
  // Each process gets one of them, as it has no other connection.
  const streams = [await words.ask(service, company.key), await words.ask(service, company.key)];
  const callers = Array.from({ length: 4 }, () => openCaller(t, service, company.key));
  process.kill(service.pid, 'SIGHUP');
  await until('the first has a successor', () => serves(service, 3));
  words.release();
  assert.match(await streams[0]!.text(), /"the end".*data: \[DONE\]/s);
  await until('the second has a successor', () => serves(service, 4));
  assert.ok(!isAlive(first), 'two processes were replaced at once');
  assert.ok(isAlive(second), 'a stream was cut off');
  words.release();
  assert.match(await streams[1]!.text(), /"the end".*data: \[DONE\]/s);
  await until('both are replaced', () => said(service, 'processes restarted'));
  assert.ok(!isAlive(second));
  const before = callers.map(({ done }) => done());
  await until('all callers go on', () => callers.every(({ done }, i) => done() > before[i]!));
  const ended = await Promise.all(callers.map(({ end }) => end()));
  assert.deepEqual(
    ended.flatMap(({ failed }) => failed),
    [],
  );
  assert.match(await figuresOf(service), /^farebox_processes_lost_total 0$/m);
  assert.equal((await service.end('SIGTERM')).code, 0, service.stderr());
  assert.deepEqual((await audit(company.database.db)).violations, []);
});

test('a restart is given up if a new process cannot start, and the old ones serve on', async (t) => {
  const place = placeFor(t, company.env);
  const service = await place.start(two);
  const folder = path.join(place.dir, '../catalog');
  fs.renameSync(folder, `${folder}-away`);
  process.kill(service.pid, 'SIGHUP');
  await until('it is given up', () => service.stderr().includes('restart given up'));
  assert.match(service.stderr(), /Cannot read the catalog folder/);
  assert.ok(service.said.processes.every(isAlive));
  assert.equal((await call(service.base, 'GET', '/livez', null)).status, 200);
  assert.equal((await service.end('SIGTERM')).code, 0, service.stderr());
});

test('what keeps a process from starting is said once, and ends the whole', async (t) => {
  const place = placeFor(t, { ...company.env, DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' });
  const ran = await place.command(two);
  assertSaid(ran, /^The database cannot be used: .*ECONNREFUSED/m);
  assert.equal(ran.stderr.match(/The database cannot be used/g)?.length, 1);
});

describe('a socket that systemd passes', () => {
  for (const args of [['serve'], two])
    test(`is served by ${args.join(' ')}, also calls from before the start`, async (t) => {
      const place = placeFor(t, { ...company.env, PORT: '1', FAREBOX_SANDBOX: 'on' });
      const listener = net.createServer().listen(0, '127.0.0.1');
      await once(listener, 'listening');
      const { port } = listener.address() as net.AddressInfo;
      const fd = Number(fieldOf(fieldOf(listener, '_handle'), 'fd'));
      const script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"';
      const command = [process.execPath, farebox, ...args, '--json'];
      const child = spawn('sh', ['-c', script, 'sh', ...command], {
        env: place.env,
        stdio: ['ignore', 'pipe', 'pipe', fd],
      });
      t.after(() => child.kill('SIGKILL'));
      // From here on only the service has the socket.
      listener.close();
      const early = call(`http://127.0.0.1:${port}`, 'GET', '/livez', null);
      const service = await untilReady(child);
      assert.deepEqual([service.said.host, service.said.port], ['127.0.0.1', port]);
      assert.equal((await early).status, 200);
      assert.equal((await service.end('SIGTERM')).code, 0, service.stderr());
    });
});

/** The lines of the log. */
function linesOf(service: RunningService): Record<string, any>[] {
  const lines = service.stderr().split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, any>);
}

function said(service: RunningService, wanted: string): boolean {
  return service.stderr().includes(`"msg":"${wanted}"`);
}

/** Whether the process with this number has begun to serve. */
function serves(service: RunningService, number: number): boolean {
  const line = new RegExp(`"process":${number},"process_pid":\\d+,"msg":"process serves"`);
  return line.test(service.stderr());
}

function processOfCalls(service: RunningService): Map<string, number> {
  const calls = linesOf(service).filter(({ msg }) => msg === 'call');
  return new Map(calls.map(({ call_id, process }) => [call_id, process]));
}

async function figuresOf({ base }: RunningService): Promise<string> {
  const reply = await onItsOwn(`${base}/metrics`);
  return reply.text();
}

/** A call on a connection of its own. */
function onItsOwn(url: string): Promise<Response> {
  return fetch(url, { headers: { connection: 'close' } });
}

interface Caller {
  /** Number of calls that were answered. */
  done(): number;
  /** The number of the newest answered call. */
  newest(): string;
  end(): Promise<{ failed: { why: string; after: string }[] }>;
}

/** A caller who makes one call after the other on a connection of their own, and pays for some. */
function openCaller(t: TestContext, { base }: RunningService, key: string): Caller {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const failed: { why: string; after: string }[] = [];
  let [newest, done, isOver] = ['', 0, false];
  const one = (submits: boolean) =>
    new Promise<void>((resolve, reject) => {
      const where = submits ? '/v1/queue/test/image' : '/v1/balance';
      const headers = { authorization: `Key ${key}`, 'content-type': 'application/json' };
      const method = submits ? 'POST' : 'GET';
      const req = http.request(`${base}${where}`, { agent, method, headers }, (res) => {
        res.resume().once('error', reject);
        res.once('end', () => {
          const wanted = submits ? 202 : 200;
          if (res.statusCode !== wanted) return reject(new Error(`status ${res.statusCode}`));
          newest = String(res.headers['x-request-id']);
          done++;
          resolve();
        });
      });
      req.once('error', reject).end(submits ? '{"prompt":"a lighthouse"}' : undefined);
    });
  const running = (async () => {
    for (let i = 0; !isOver; i++)
      await one(i % 100 === 0).catch(({ message }: Error) =>
        failed.push({ why: message, after: newest }),
      );
  })();
  const end = async () => {
    isOver = true;
    await running;
    agent.destroy();
    return { failed };
  };
  t.after(() => {
    isOver = true;
    agent.destroy();
  });
  return { done: () => done, newest: () => newest, end };
}

/** An upstream for chat, whose streams wait in their middle. */
async function openWords() {
  const held: (() => void)[] = [];
  const server = http.createServer((_req, res) => {
    const chunk = (more: object) => res.write(`data: ${JSON.stringify({ id: 'a', ...more })}\n\n`);
    const words = (content: string, finish_reason: string | null) =>
      chunk({ choices: [{ index: 0, delta: { content }, finish_reason }] });
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    words('the beginning', null);
    held.push(() => {
      words('the end', 'stop');
      chunk({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } });
      res.end('data: [DONE]\n\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  return {
    catalog: `
upstream:
  name: words
  adapter: openai
  url: http://127.0.0.1:${port}/v1
  key_from: WORDS_KEY
  concurrency: 10
owned_by: test
models:
  - id: test/words
    kind: text
    task: chat
    name: Words
    description: Some words.
    price: { unit: 1M tokens, input_usd: "1", output_usd: "1" }
    context_tokens: 1000
    max_output_tokens: 100
    upstream_model: words
`,
    /** A chat whose stream has begun. */
    async ask({ base }: RunningService, key: string): Promise<{ text(): Promise<string> }> {
      const count = held.length;
      const reply = await fetch(`${base}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'test/words',
          stream: true,
          messages: [{ role: 'user', content: 'go' }],
        }),
      });
      assert.equal(reply.status, 200);
      await until('the upstream was asked', () => held.length > count);
      return reply;
    },
    /** The oldest stream goes on. */
    release: () => held.shift()!(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
