import { connect } from 'node:net';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { openEvents } from '../../kit/events.ts';
import { startProcess, type ServiceProcess } from '../../kit/process.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { seconds } from '../../kit/seconds.ts';
import { startService, type TestAccount } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { until } from '../../kit/until.ts';

/** The real program with open calls, which is stopped, stopped twice, and killed. */

const { service } = withService();

/** Without a worker, which could claim another test's job and die with it. */
const withoutWorker = { FAREBOX_WORKER: 'off' };

const chatBody = (content: string, stream = false) => ({
  model: 'real/chat',
  messages: [{ role: 'user', content }],
  max_tokens: 50,
  stream,
});

function chat(account: TestAccount, base: string, content: string) {
  return account.post('/v1/chat/completions', chatBody(content), { base });
}

function chatStream(account: TestAccount, base: string, content: string) {
  const body = chatBody(content, true);
  return openEvents(base, '/v1/chat/completions', { key: account.key, body });
}

/** A connection on which nothing has been sent yet. */
async function heldConnection(base: string): Promise<(bytes: string) => Promise<string>> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  await new Promise((resolve) => socket.once('connect', resolve));
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString()));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return async (bytes) => {
    socket.write(bytes);
    await closed;
    return text;
  };
}

async function reserved(account: TestAccount): Promise<bigint> {
  return (await service.balance(account)).reserved;
}

async function transfers({ account_id }: TestAccount): Promise<bigint> {
  const count = 'select count(*) as n from transfers where account_id = $1';
  const [row] = await service.db.run<{ n: bigint }>(rawSql(count, [account_id]));
  return row!.n;
}

describe('a process', { concurrency: true }, () => {
  test('that is stopped finishes calls that can end, breaks off the rest with an error, and exits', async (t) => {
    const account = await service.account();
    const running = await startProcess(service, { FAREBOX_DRAIN_SECONDS: '3' });
    t.after(() => running.kill());
    const { base } = running;
    const body = { prompt: 'sandbox:slow=600' };
    const job = await account.post('/v1/queue/real/image', body, { base });
    const status = `/v1/requests/${job.body.request_id}/status`;
    await until('the job runs', async () => {
      const reply = await account.get(status, { base });
      return reply.body.status === 'IN_PROGRESS';
    });
    const watching = await openEvents(base, `${status}/stream`, { key: account.key });
    const ending = chat(account, base, 'sandbox:slow=1 hello');
    const endingStream = await chatStream(account, base, 'sandbox:slow=1 hello');
    const hanging = chat(account, base, 'sandbox:hang');
    const hangingStream = await chatStream(account, base, 'sandbox:hang');
    const ready = await heldConnection(base);
    const late = await heldConnection(base);
    await until('all are under way', async () => (await reserved(account)) > 10_000n + 4n * 200n);
    const before = await transfers(account);

    running.signal('SIGTERM');
    const told = await watching.rest();
    assert.equal(told.at(-1)!.event, 'end');
    assert.equal(JSON.parse(told.at(-1)!.data).reason, 'draining');
    assert.equal(await watching.closed, true);
    assert.match(
      await ready('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n'),
      /^HTTP\/1\.1 503 [^]*"failing":"draining"/,
    );
    const text = JSON.stringify(chatBody('too late'));
    const refused = await late(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Key ${account.key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
    assert.match(refused, /^HTTP\/1\.1 503 [^]*retry-after: [1-9][^]*"capacity_unavailable"/i);
    await stillAnswers(account, base, status);

    const ended = await ending;
    assert.equal(ended.status, 200, ended.text);
    const events = await endingStream.rest();
    assert.equal(events.at(-1)!.data, '[DONE]');
    assert.ok(events.every(({ data }) => !data.includes('"error"')));
    assert.equal(await endingStream.closed, true);

    const { message: toldWhy } = assertRefused(await hanging, 'submit_failed');
    assert.match(toldWhy, /^This server stopped before the model had answered/);
    await assert.rejects(fetch(`${base}/livez`), 'new connections are still taken');
    const broken = await hangingStream.rest();
    assert.deepEqual(
      broken.map(({ data }) => data === '[DONE]'),
      [false, true],
    );
    const { code, message } = JSON.parse(broken[0]!.data).error;
    assert.equal(code, 'submit_failed');
    assert.match(message, /^This server stopped in the middle of the reply/);
    assert.equal(await hangingStream.closed, true);

    assert.equal(await running.ended, 0, running.output());
    assert.equal(await reserved(account), 10_000n, 'only the job is still open');
    assert.equal(
      await transfers(account),
      before + 4n,
      'each call is settled, the late one made nothing',
    );
    assert.doesNotMatch(running.output(), /"level":(50|60)/);
  });

  /** Asserts that new connections are served, as a load balancer opens them before it notices. */
  async function stillAnswers(account: TestAccount, base: string, status: string): Promise<void> {
    const unready = await service.call('GET', '/readyz', { base });
    assert.equal(assertRefused(unready, 'capacity_unavailable').details.failing, 'draining');
    assert.equal(unready.headers.get('connection'), 'close');
    const body = { prompt: 'too late' };
    const submit = await account.post('/v1/queue/real/image', body, { base });
    assertRefused(submit, 'capacity_unavailable');
    assert.match(submit.headers.get('retry-after') ?? '', /^[1-9]/);
    const read = await account.get(status, { base });
    assert.equal(read.status, 200, read.text);
  }

  test('without open calls exits when the drain is over, even if connections are open', async () => {
    const { app, base } = await service.another({ FAREBOX_DRAIN_SECONDS: '0.5' });
    const silent = await heldConnection(base);
    const took = await seconds(() => app.stop());
    assert.ok(took > 0.4, `${took} s`);
    assert.equal(await silent(''), '');
    await assert.rejects(fetch(`${base}/livez`));
  });

  test('takes calls for the first half of its drain, while load balancers notice the stop', async () => {
    const { app, base } = await service.another({ FAREBOX_DRAIN_SECONDS: '6' });
    const { key } = await service.account();
    const submit = () => service.call('POST', '/v1/queue/fake/image', { key, base, body });
    const body = { prompt: 'x' };
    const stopped = app.stop(12_000);
    for (const path of ['/livez', '/readyz'])
      assert.equal((await service.call('GET', path, { base })).status, 503, path);
    assert.equal((await submit()).status, 202);
    // In parallel, so that a call that waits long does not use up the second half.
    const late: Promise<number>[] = [];
    const sending = setInterval(() => {
      late.push(
        submit()
          .then(({ status }) => status)
          .catch(() => 0),
      );
    }, 100);
    await stopped;
    clearInterval(sending);
    assert.ok((await Promise.all(late)).includes(503), 'nothing new is taken in the second half');
  });

  test('says on each connection with which reply it ends, also where the call began before the stop', async (t) => {
    // On its own database, because workers of other processes would end its request.
    const own = await startService();
    t.after(() => own.stop());
    // A job that ended would end the wait.
    own.fake.behave.poll = () => ({ state: 'running' });
    const { app, base } = await own.another({ FAREBOX_DRAIN_SECONDS: '0.5' });
    const account = await own.account();
    const body = { prompt: 'x' };
    const submitted = await own.call('POST', '/v1/queue/fake/image', {
      key: account.key,
      base,
      body,
    });
    const path = `/v1/requests/${submitted.body.request_id}`;
    const line = await heldConnection(base);
    const get = (what: string) =>
      `GET ${path}${what} HTTP/1.1\r\nhost: x\r\nauthorization: Key ${account.key}\r\n\r\n`;
    await until('no call is under way', () => app.metrics.counts.inFlight === 0);
    // Its start may come in between, and does not end the wait.
    const said = line(get('/status?wait=20&until=final') + get(''));
    // Both come in one packet. The first gives its slot back while it waits; the second has to keep
    // its own, because its reply goes out behind the first one.
    await until('both are under way', () => app.metrics.counts.inFlight === 1);
    await app.stop();
    const replies = (await said).split(/(?=HTTP\/1\.1 )/);
    assert.deepEqual(
      replies.map((reply) => [
        /^HTTP\S+ (\d+)/.exec(reply)?.[1],
        /^connection: (.+)$/im.exec(reply)?.[1],
      ]),
      [
        ['200', 'keep-alive'],
        ['200', 'close'],
      ],
    );
  });

  test('that is stopped twice exits at once', async (t) => {
    const account = await service.account();
    const running = await startProcess(service, withoutWorker);
    t.after(() => running.kill());
    const hanging = chat(account, running.base, 'sandbox:hang').then(
      () => 'answered',
      () => 'broken off',
    );
    await until('it is under way', async () => (await reserved(account)) > 0n);
    running.signal('SIGTERM');
    await until('it is stopping', () => running.output().includes('"stopping"'));
    let ended: unknown;
    void running.ended.then((how) => (ended = how));
    const took = await seconds(() =>
      until('it is gone', () => {
        running.signal('SIGINT');
        return ended !== undefined;
      }),
    );
    assert.equal(ended, 1);
    assert.ok(took < 5, `${took} s`);
    assert.equal(await hanging, 'broken off');
    await released(account);
  });

  test('that is killed leaves a reservation, which is released when it is due', async (t) => {
    const account = await service.account();
    const running: ServiceProcess = await startProcess(service, withoutWorker);
    t.after(() => running.kill());
    const stream = await chatStream(account, running.base, 'sandbox:hang');
    running.signal('SIGKILL');
    assert.equal(await running.ended, 'SIGKILL');
    assert.equal(await stream.closed, false);
    assert.deepEqual(await stream.rest(), []);
    await released(account);
  });

  /** Asserts that an unsettled request is still reserved, and is released once it is due. */
  async function released(account: TestAccount): Promise<void> {
    assert.ok((await reserved(account)) > 0n);
    const makeDue =
      'update requests set wake_at = now() where account_id = $1 and wake_at is not null';
    await service.db.run(rawSql(makeDue, [account.account_id]));
    await until('it is released', async () => {
      await service.app.worker!.runOnce();
      return (await reserved(account)) === 0n;
    });
    assert.equal((await service.balance(account)).available, 100_000_000n);
  }
});
