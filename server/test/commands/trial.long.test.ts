import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { until } from '../kit/until.ts';
import { serve } from '../upstreams/fakes/kit.ts';
import {
  assertNoPostgres,
  assertSaid,
  call,
  memoryMb,
  outputOf,
  placeFor,
  reaches,
  submit,
  type Place,
} from './cli.ts';

const stopMaxMs = 10_000;

async function balanceOf(place: Place, email = 'demo@farebox.local') {
  const { json } = await place.run(['account', 'show', email, '--json']);
  const { available_usd_micro, reserved_usd_micro } = json;
  return { available: available_usd_micro, reserved: reserved_usd_micro };
}

async function assertBooks(place: Place): Promise<void> {
  const { json } = await place.run(['audit', '--json']);
  assert.deepEqual(json.violations, []);
}

describe('trial', () => {
  test('a first start is ready with accounts and a working key', async (t) => {
    const place = placeFor(t);
    const service = await place.start(['trial']);
    const { base_url, port, key, email, operator, available_usd_micro } = service.said;
    assert.equal((await call(service.base, 'GET', '/readyz', null)).status, 200);
    assert.equal(base_url, `http://localhost:${port}/v1`);
    assert.deepEqual(
      [email, operator, available_usd_micro],
      ['demo@farebox.local', 'operator@farebox.local', '100000000'],
    );
    const id = await submit(service.base, key, 'a lighthouse at dawn');
    await reaches(service.base, key, id, 'COMPLETED');
    const { body } = await call(service.base, 'GET', `/v1/requests/${id}/response`, key);
    const output = await fetch(body.images[0].url);
    assert.equal(output.status, 200);
    assert.match(output.headers.get('content-type') ?? '', /^image\//);
    assert.ok((await output.arrayBuffer()).byteLength > 100);
    assert.deepEqual(await balanceOf(place), { available: '99990000', reserved: '0' });
    assert.equal(service.stderr(), '', 'a trial that works has nothing to complain of');
    if (process.platform === 'linux') {
      const [own, postgres] = [service.pid, place.postgresPid()!].map(memoryMb);
      t.diagnostic(`ready after ${service.ready_ms} ms, resident ${own} + ${postgres} MB`);
    }
    const { code, ms } = await service.end('SIGINT');
    assert.equal(code, 0);
    assert.ok(ms < stopMaxMs);
    await assertNoPostgres(place);
  });

  test('a second start tells a human the same key and the true balance', async (t) => {
    const place = placeFor(t);
    const first = await place.start(['trial']);
    const { key } = first.said;
    const id = await submit(first.base, key, 'a lighthouse');
    await reaches(first.base, key, id, 'COMPLETED');
    assert.equal((await first.end('SIGTERM')).code, 0);
    const child = place.spawn(['trial']);
    const output = outputOf(child);
    await until('it is ready', () => /Ctrl-C stops everything/.exec(output.stdout), 60_000);
    assert.match(output.stdout, new RegExp(`API key +${key}\\n`));
    assert.match(output.stdout, /base address +http:\/\/localhost:\d+\/v1\n/);
    assert.match(output.stdout, /demo@farebox\.local \(balance 99\.99 USD\)/);
    assert.doesNotMatch(output.stdout, /undefined|\[object/);
    const [, port] = /localhost:(\d+)/.exec(output.stdout)!;
    const base = `http://127.0.0.1:${port}`;
    const card = await call(base, 'GET', `/v1/requests/${id}`, key);
    assert.equal(card.body.status, 'COMPLETED');
    assert.deepEqual(await balanceOf(place), { available: '99990000', reserved: '0' });
    const { data } = (await place.run(['key', 'list', '--json'])).json;
    assert.equal(data.length, 1, 'every start made a key');
    await place.run(['key', 'revoke', data[0].key_id]);
    child.kill('SIGINT');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    const third = await place.start(['trial']);
    assert.notEqual(third.said.key, key, 'a revoked key is shown as ready');
    assert.equal((await call(third.base, 'GET', '/v1/requests', third.said.key)).status, 200);
    assert.equal((await call(third.base, 'GET', '/v1/requests', key)).status, 401);
    assert.equal(third.said.available_usd_micro, '99990000');
    assert.equal((await third.end('SIGTERM')).code, 0);
    await assertNoPostgres(place);
  });
});

describe('on an existing database', () => {
  let database: TestDatabase;
  before(async () => void (database = await testDatabase()));
  after(() => database.close());

  test('it puts no play money beside the accounts of others', async (t) => {
    const { db, url } = database;
    const place = placeFor(t, { DATABASE_URL: url, FAREBOX_UNSAFE_DATABASE: 'on' });
    const own = await place.start(['trial']);
    assert.equal((await own.end('SIGTERM')).code, 0);
    const again = await place.start(['trial']);
    assert.equal(again.said.key, own.said.key);
    assert.equal((await again.end('SIGTERM')).code, 0);
    await db.run(rawSql(`update accounts set email = 'ana@example.com' where email like 'demo@%'`));
    const before = (await place.run(['account', 'list', '--json'])).json;
    const ran = await place.command(['trial', '--json']);
    assertSaid(ran, /This database has accounts, and demo@farebox\.local is not one of them/);
    assert.match(ran.json.error.message, /unset DATABASE_URL/);
    assert.deepEqual((await place.run(['account', 'list', '--json'])).json, before);
    assert.equal(place.postgresPid(), null);
  });
});

describe('with the catalog that it comes with', () => {
  const tasks = `text-to-video image-to-video reference-to-video video-edit video-extend
    video-analyze video-to-video/edit character-animation talking-avatar lip-sync video-to-audio
    motion-control reframe upscale text-to-image edit layer-decomposition text-to-vector
    chat`.split(/\s+/);

  test('every task is offered, and the printed commands work unchanged', async (t) => {
    // Nothing in the environment sets up another upstream than the sandbox.
    const place = placeFor(t, { FAREBOX_CATALOG: '' });
    const checked = await place.run(['catalog', 'check', '--json']);
    assert.deepEqual([checked.code, checked.json.problems], [0, []]);
    const child = place.spawn(['trial']);
    const output = outputOf(child);
    await until('it is ready', () => /Ctrl-C stops everything/.exec(output.stdout), 60_000);
    const [, port] = /localhost:(\d+)/.exec(output.stdout)!;
    const { body } = await call(`http://127.0.0.1:${port}`, 'GET', '/v1/models', null);
    const offered = new Set(body.data.map((model: { task: string }) => model.task));
    assert.deepEqual(
      tasks.filter((task) => !offered.has(task)),
      [],
    );
    assert.match(output.stdout, new RegExp(`ready: ${body.data.length} sandbox models`));
    assert.equal(body.data.length, checked.json.models - checked.json.hidden.length);
    const [, key] = /export FAREBOX_API_KEY=(\S+)\n/.exec(output.stdout)!;
    const curl =
      /curl -s (\S+) \\\n +-H "Authorization: Key \$FAREBOX_API_KEY" [^]*-d '(\{.*\})'\n/;
    const [, url, input] = curl.exec(output.stdout)!;
    const submitted = await call(url!, 'POST', '', key!, JSON.parse(input!) as object);
    assert.equal(submitted.status, 202, JSON.stringify(submitted.body));
    assert.equal(output.stderr, '');
    child.kill('SIGINT');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    await assertNoPostgres(place);
  });
});

describe('with real upstreams set up', () => {
  async function welcomeOf(place: Place) {
    const child = place.spawn(['trial']);
    const output = outputOf(child);
    await until('it is ready', () => /Ctrl-C stops everything/.exec(output.stdout), 60_000);
    child.kill('SIGINT');
    assert.deepEqual(await once(child, 'exit'), [0, null], output.stderr);
    return output.stdout;
  }

  test('it names them, says that they cost real credit, and tries the sandbox first', async (t) => {
    const place = placeFor(t, { FAREBOX_CATALOG: '', FAL_KEY: 'k', OPENAI_API_KEY: 'k' });
    const text = await welcomeOf(place);
    assert.match(text, /ready: \d+ sandbox models, and \d+ models at fal, openai\.\n/);
    assert.match(text, /play money spends your real credit at fal, openai\.\n/);
    assert.doesNotMatch(text, /no outside service|no real money/);
    assert.match(text, /\/v1\/queue\/sandbox\/canvas\/text-to-image \\\n/);
    const service = await place.start(['trial']);
    const { models, upstreams, try_it } = service.said;
    assert.deepEqual(upstreams, ['fal', 'openai']);
    assert.equal(try_it.model_id, 'sandbox/canvas/text-to-image');
    const { body } = await call(service.base, 'GET', '/v1/models', null);
    assert.equal(models.sandbox + models.other, body.data.length);
    assert.ok(models.other > 0 && text.includes(`${models.sandbox} sandbox models`));
    assert.equal((await service.end('SIGTERM')).code, 0);
  });

  test('without the sandbox it tries a live row: an image, else a chat', async (t) => {
    const off = { FAREBOX_CATALOG: '', FAREBOX_SANDBOX: 'off' };
    const place = placeFor(t, { ...off, OPENAI_API_KEY: 'k' });
    const picture = await welcomeOf(place);
    assert.match(picture, /ready: no sandbox models, and \d+ models at openai\.\n/);
    assert.match(picture, /\/v1\/queue\/gpt-image-[\w.-]+ \\\n[^]*"prompt":"a lighthouse at dawn"/);
    const message = { role: 'assistant', content: 'Hello.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
    const server = await serve(() => ({
      json: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage },
    }));
    t.after(() => server.close());
    const env = { OPENAI_API_KEY: '', OLLAMA_URL: server.url };
    const chat = await place.start(['trial'], env);
    const { models, upstreams, try_it, key } = chat.said;
    assert.deepEqual([models.sandbox, upstreams], [0, ['ollama']]);
    assert.match(try_it.url, /\/v1\/chat\/completions$/);
    const { status, body } = await call(try_it.url, 'POST', '', key, try_it.body);
    assert.deepEqual([status, body.choices?.[0].message.content], [200, 'Hello.']);
    assert.equal((await chat.end('SIGTERM')).code, 0);
    const none = await place.start(['trial'], { OPENAI_API_KEY: '' });
    assert.deepEqual([none.said.upstreams, none.said.try_it], [[], null]);
    assert.equal((await none.end('SIGTERM')).code, 0);
  });
});

describe('killed', () => {
  /** Short leases, so that those of dead processes end soon. */
  const env = {
    FAREBOX_LEASE_SECONDS: '2',
    FAREBOX_STEP_TIMEOUT_SECONDS: '1.8',
    // At real speed, so that jobs are running when the process is killed.
    FAREBOX_SANDBOX_SPEED: '1',
  };

  test('the service finds its database again and finishes what was open, once', async (t) => {
    const place = placeFor(t, { ...env, FAREBOX_SANDBOX_CONCURRENCY: '1' });
    const first = await place.start(['trial']);
    const { key } = first.said;
    const running = await submit(first.base, key, 'sandbox:slow=1 a lighthouse');
    await reaches(first.base, key, running, 'IN_PROGRESS');
    const queued = await submit(first.base, key, 'sandbox:slow=0.1 a pier');
    const postgres = place.postgresPid();
    assert.equal((await first.end('SIGKILL')).code, null);
    assert.equal(place.postgresPid(), postgres, 'PostgreSQL went with the service');

    const second = await place.start(['trial']);
    assert.equal(place.postgresPid(), postgres, 'another PostgreSQL was started');
    assert.equal(second.said.key, key);
    for (const id of [running, queued]) await reaches(second.base, key, id, 'COMPLETED');
    assert.deepEqual(await balanceOf(place), { available: '99980000', reserved: '0' });
    await assertBooks(place);
    assert.equal((await second.end('SIGTERM')).code, 0);
    await assertNoPostgres(place);
  });

  test('its PostgreSQL serves a verb, which stops it in the end', async (t) => {
    const place = placeFor(t, env);
    const service = await place.start(['trial']);
    await submit(service.base, service.said.key, 'sandbox:hang');
    await service.end('SIGKILL');
    assert.notEqual(place.postgresPid(), null);
    assert.deepEqual(await balanceOf(place), { available: '99990000', reserved: '10000' });
    await assertNoPostgres(place);
  });

  test('its PostgreSQL comes back by itself, with all that was committed', async (t) => {
    const place = placeFor(t, env);
    const service = await place.start(['trial']);
    const { key } = service.said;
    const earlier = await submit(service.base, key, 'sandbox:slow=1 a lighthouse');
    const postgres = place.postgresPid()!;
    process.kill(postgres, 'SIGKILL');
    const readyz = () => call(service.base, 'GET', '/readyz', null);
    const down = await until('it is seen that the database is away', async () => {
      const reply = await readyz();
      return reply.status === 503 ? reply : null;
    });
    assert.equal(down.body.error.details.failing, 'database');
    const began = performance.now();
    await until('it is ready again', async () => (await readyz()).status === 200);
    t.diagnostic(`ready again after ${Math.round(performance.now() - began)} ms`);
    assert.notEqual(place.postgresPid(), postgres);
    const later = await submit(service.base, key, 'sandbox:slow=0.1 a pier');
    for (const id of [earlier, later]) await reaches(service.base, key, id, 'COMPLETED');
    assert.deepEqual(await balanceOf(place), { available: '99980000', reserved: '0' });
    await assertBooks(place);
    assert.equal((await service.end('SIGTERM')).code, 0);
    await assertNoPostgres(place);
  });
});
