import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sign } from '../../src/core/request/signature.ts';
import { audit } from '../../src/ledger/audit.ts';
import { until } from '../kit/until.ts';
import { S3Server } from '../storage/s3-server.ts';
import {
  assertNoPostgres,
  assertSaid,
  call,
  farebox,
  outputOf,
  placeFor,
  reaches,
  submit,
} from './cli.ts';
import { endsInOrder, isAlive, openCompany, secret, type Company } from './serve-kit.ts';

describe('on the embedded database', () => {
  test('an unusable folder or catalog is named in words, and nothing is left running', async (t) => {
    const place = placeFor(t);
    const elsewhere = await place.command(['serve', '--embedded'], { HOST: '192.0.2.1' });
    assertSaid(elsewhere, /Cannot listen on 192\.0\.2\.1:0 \(EADDRNOTAVAIL\)/);
    await assertNoPostgres(place);
    const lost = await place.command(['serve', '--embedded'], { FAREBOX_CATALOG: '/no/such' });
    assertSaid(lost, /Cannot read the catalog folder \/no\/such/);
    await assertNoPostgres(place);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    test(`${signal} ends it in order while a job runs and a stream is open`, async (t) => {
      const place = placeFor(t);
      await endsInOrder(place, await place.start(['trial']), signal);
    });

  test('stopped in the midst of its start it leaves no PostgreSQL behind', async (t) => {
    const place = placeFor(t);
    const child = place.spawn(['serve', '--embedded']);
    const output = outputOf(child);
    await until('PostgreSQL is starting', () => place.postgresPid());
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    assert.equal(code, 0, output.stderr);
    await assertNoPostgres(place);
  });
});

describe('on a database of its own', () => {
  let company: Company;
  before(async () => void (company = await openCompany()));
  after(() => company.database.close());

  for (const command of ['serve', 'worker'])
    test(`SIGHUP does not end a ${command}, and the log says what helps`, async (t) => {
      const place = placeFor(t, company.env);
      const running = await place.start([command]);
      for (let times = 1; times <= 2; times++) {
        process.kill(running.pid, 'SIGHUP');
        await until('it is told', () => {
          const told = running.stderr().split('"SIGHUP changes nothing here').length - 1;
          return told === times;
        });
      }
      if (command === 'serve')
        assert.equal((await call(running.base, 'GET', '/readyz', null)).status, 200);
      assert.doesNotMatch(running.stderr(), /"stopping"/);
      assert.equal((await running.end('SIGTERM')).code, 0, running.stderr());
    });

  for (const command of ['serve', 'serve --processes 2', 'worker'])
    test(`a terminal that closes ends ${command} in order`, async (t) => {
      // Another `script` than that of Linux has other options.
      if (process.platform !== 'linux') return t.skip('not run: script');
      const place = placeFor(t, company.env);
      const file = (name: string) => path.join(place.dir, '..', name);
      const line = `"${process.execPath}" "${farebox}" ${command} --json >said 2>log; true`;
      const terminal = spawn('script', ['-qfc', line, '/dev/null'], {
        cwd: path.join(place.dir, '..'),
        env: { ...place.env, FAREBOX_SANDBOX: 'on' },
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      t.after(() => terminal.kill('SIGKILL'));
      const read = (name: string) =>
        fs.existsSync(file(name)) ? fs.readFileSync(file(name), 'utf8') : '';
      await until('it runs', () => read('said').endsWith('}\n'));
      const { pid } = JSON.parse(read('said')) as { pid: number };
      t.after(() => isAlive(pid) && process.kill(pid, 'SIGTERM'));
      terminal.kill('SIGKILL');
      await until('it has ended', () => !isAlive(pid));
      const lines = read('log')
        .trim()
        .split('\n')
        .map((each) => JSON.parse(each));
      assert.equal(lines.at(-1).msg, 'stopped', read('log'));
      const starts = lines.filter(({ msg }) => msg === 'started').length;
      assert.equal(
        lines.filter(({ msg }) => msg === 'stopped').length,
        starts + Number(starts > 1),
      );
      assert.doesNotMatch(read('log'), /restart|"level":50/);
    });

  test('a worker completes waiting requests without a service, and serves only its health', async (t) => {
    const place = placeFor(t, company.env);
    const file = (name: string, text: string) => {
      const where = path.join(path.dirname(place.dir), name);
      fs.writeFileSync(where, `${text}\n`);
      return where;
    };
    const service = await place.start(['serve', '--no-worker'], {
      DATABASE_URL: '',
      DATABASE_URL_FILE: file('url', company.database.url),
      FAREBOX_SECRET: '',
      FAREBOX_SECRET_FILE: file('secret', secret),
    });
    assert.equal(service.said.base_url, 'https://models.example.com/v1');
    const { available } = await company.balance();
    const id = await submit(service.base, company.key, 'a lighthouse');
    // Another process starts and ends meanwhile.
    const shown = await place.command(['account', 'show', 'ana@example.com', '--json']);
    assert.equal(shown.json.reserved_usd_micro, '10000');
    const { body: card } = await call(
      service.base,
      'GET',
      `/v1/requests/${id}/status`,
      company.key,
    );
    assert.equal(card.status, 'IN_QUEUE', 'it was worked on without a worker');
    const worker = await place.start(['worker'], {
      FAREBOX_WORKER_PORT: '0',
      FAREBOX_METRICS_TOKEN: 'a token for the figures',
    });
    await reaches(service.base, company.key, id, 'COMPLETED');
    assert.deepEqual(await company.balance(), { available: available - 10_000n, reserved: 0n });

    for (const path of ['/livez', '/readyz']) {
      assert.equal((await call(worker.base, 'GET', path, null)).status, 200, path);
    }
    assert.equal((await call(worker.base, 'GET', '/metrics', null)).status, 403);
    const authorization = 'Bearer a token for the figures';
    const reply = await fetch(`${worker.base}/metrics`, { headers: { authorization } });
    assert.match(await reply.text(), /^farebox_queue_waiting\{upstream="sandbox"\} 0$/m);
    for (const path of ['/v1/models', '/v1/requests', '/v1/openapi.json']) {
      assert.equal((await call(worker.base, 'GET', path, company.key)).status, 404, path);
    }
    assert.equal((await worker.end('SIGTERM')).code, 0, worker.stderr());

    const { body } = await call(service.base, 'GET', `/v1/requests/${id}/response`, company.key);
    const { url } = body.images[0] as { url: string };
    assert.ok(url.startsWith(`https://models.example.com/v1/requests/${id}/output/0?`), url);
    const { searchParams } = new URL(url);
    const exp = Number(searchParams.get('exp'));
    // Signed with the file's contents, without its line break.
    const signed = sign(Buffer.from(secret), { request_id: id, index: 0, exp });
    assert.equal(searchParams.toString(), signed);
    assert.equal((await call(service.base, 'GET', '/readyz', null)).status, 200);
    assert.equal((await service.end('SIGTERM')).code, 0, service.stderr());
    assert.equal(fs.existsSync(path.join(place.dir, 'postgres')), false);
  });

  test('a worker without a port completes waiting requests of two services', async (t) => {
    const place = placeFor(t, company.env);
    const services = await Promise.all([
      place.start(['serve', '--no-worker']),
      place.start(['serve'], { FAREBOX_WORKER: 'off' }),
    ]);
    const [first, second] = services;
    assert.notEqual(first.base, second.base);
    const { available } = await company.balance();
    const id = await submit(first.base, company.key, 'a lighthouse');
    // Another process starts and ends meanwhile.
    const shown = await place.run(['account', 'show', 'ana@example.com', '--json']);
    assert.equal(shown.json.reserved_usd_micro, '10000');
    const { body } = await call(second.base, 'GET', `/v1/requests/${id}/status`, company.key);
    assert.equal(body.status, 'IN_QUEUE', 'it was worked on without a worker');
    const worker = await place.start(['worker']);
    assert.equal(worker.said.port, undefined);
    await reaches(second.base, company.key, id, 'COMPLETED');
    assert.deepEqual(await company.balance(), { available: available - 10_000n, reserved: 0n });
    assert.equal((await worker.end('SIGTERM')).code, 0, worker.stderr());
    for (const service of services) {
      assert.equal((await call(service.base, 'GET', '/readyz', null)).status, 200);
      assert.equal((await service.end('SIGINT')).code, 0, service.stderr());
    }
    assert.equal(place.postgresPid(), null);
  });

  test('folders that the system denies are named, and nothing tries for ever', async (t) => {
    if (process.platform !== 'linux') return t.skip('there is no /proc');
    const place = placeFor(t, company.env);
    const storage = await place.command(['serve'], { FAREBOX_STORAGE: 'disk:/proc/x/y' });
    assertSaid(storage, /^FAREBOX_STORAGE: ENOENT.*\/proc\/x/);
    const data = await place.command(['serve'], { FAREBOX_DATA_DIR: '/proc/zz' });
    assertSaid(data, /^FAREBOX_DATA_DIR: cannot use \/proc\/zz: ENOENT/);
    const embedded = { DATABASE_URL: '', FAREBOX_DATA_DIR: '/proc/zz' };
    assertSaid(await place.run(['account', 'list'], embedded), /FAREBOX_DATA_DIR: .*\/proc\/zz/);
  });

  test('a storage that does not answer is logged at the start, and bad catalog files are counted', async (t) => {
    const place = placeFor(t, company.env);
    const bad = path.join(place.dir, '../catalog/bad.yaml');
    fs.writeFileSync(bad, 'models: 5\n');
    const s3 = new S3Server();
    s3.before = () => ({ status: 404, code: 'NoSuchBucket' });
    const { host } = new URL(await s3.listen());
    t.after(() => s3.close());
    const service = await place.start(['serve', '--no-worker'], {
      FAREBOX_STORAGE: `s3+http://key:unspoken@${host}`,
    });
    const problems = async () => {
      const { body } = await call(service.base, 'GET', '/metrics', null);
      return /^farebox_catalog_problems (.+)$/m.exec(body)?.[1];
    };
    assert.equal(await problems(), '1');
    await until('the storage is warned of', () =>
      service.stderr().includes('the storage does not answer as it should: see FAREBOX_STORAGE'),
    );
    assert.match(service.stderr(), /NoSuchBucket/);
    assert.doesNotMatch(service.stderr(), /unspoken/, 'the secret is in the log');
    const asked = new Set(s3.calls.map(({ method }) => method));
    assert.deepEqual([...asked], ['GET'], 'something was written where nothing answers');
    const { body } = await call(service.base, 'GET', '/readyz', null);
    assert.equal(body.error.details.failing, 'storage');
    fs.rmSync(bad);
    await until('nothing is wrong any more', async () => (await problems()) === '0');
    assert.match(service.stderr(), /"files":\["bad\.yaml"\].*catalog problems are gone/);
    assert.equal((await service.end('SIGTERM')).code, 0, service.stderr());
  });

  test('at the level debug each call leaves a line, without query, body or key', async (t) => {
    const service = await placeFor(t, company.env).start(['serve'], { FAREBOX_LOG_LEVEL: 'debug' });
    await call(service.base, 'GET', '/v1/requests?model_id=hush/word', company.key);
    const refused = { prompt: 'a hushed prompt', num_images: 'x' };
    await call(service.base, 'POST', '/v1/queue/test/image?a=hush', company.key, refused);
    await call(service.base, 'GET', '/livez', null);
    await service.end('SIGTERM');
    const lines = service.stderr().trim().split('\n');
    const calls = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'call');
    assert.deepEqual(
      calls.map(({ method, route, status }) => [method, route, status]),
      [
        ['GET', '/v1/requests', 200],
        ['POST', '/v1/queue/*', 400],
        ['GET', '/livez', 200],
      ],
    );
    for (const { ms, call_id } of calls) {
      assert.ok(Number.isInteger(ms) && ms >= 0);
      assert.match(call_id, /^req_/);
    }
    assert.match(calls[0].key_id, /^[0-9a-f-]{36}$/);
    assert.equal(calls[2].key_id, undefined);
    assert.doesNotMatch(service.stderr(), /hush/);
    assert.ok(!service.stderr().includes(company.key));
  });

  test('the books balance after all of this', async () => {
    const { violations, checked } = await audit(company.database.db);
    assert.deepEqual(violations, []);
    assert.equal(checked.requests, 2);
  });
});
