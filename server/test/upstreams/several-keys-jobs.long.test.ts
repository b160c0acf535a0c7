import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { App } from '../../src/app.ts';
import { signCallback } from '../../src/core/request/signature.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import type { Service, TestAccount } from '../kit/service.ts';
import { operatorOf, startWebService, type Person } from '../kit/web.ts';
import { moneyOf, passDeadline, rowOf, submitted, wake } from '../worker/floor.ts';
import { media, type Answer, type Call } from './fakes/kit.ts';
import {
  endPause,
  keys,
  limited,
  nameOf,
  paused,
  serveKeyed,
  startsOf,
  told,
  wrongKey,
  type KeyedFake,
  type Letter,
} from './several-keys-kit.ts';

/**
 * Jobs at an upstream with several keys. Each key is an account of its own there: a job is known to
 * the key that made it, and to no other.
 */

const models = (options: string) => `
  options: { auth: bearer, status: status, outputs: [outputs], ${options} }
models:
  - { id: own/image, kind: image, task: text-to-image, name: One, price: { unit: image, usd: "0.01" }, max: 4,
      upstream_model: m, input_schema: { type: object, properties: { prompt: { type: string } } }, example: { prompt: x } }
`;
const head = (url: string) =>
  `upstream:\n  name: own\n  adapter: http-job\n  url: ${url}\n  key_from: OWN_KEY`;
const byId = 'id: id, poll: { path: "/jobs/{id}" }, cancel: { path: "/jobs/{id}/cancel" }';
const submit = 'submit: { path: /jobs, body: { input: $input } }';
const kinds: Record<string, string> = {
  A: models(`${submit}, ${byId}, idempotency_header: idempotency-key`),
  B: models(
    'submit: { path: /jobs, body: { input: $input, key: $idempotency_key } }, id: $idempotency_key, poll: { path: "/jobs/{id}" }',
  ),
};

interface Job {
  id: string;
  letter: Letter;
  state: 'running' | 'done';
}

let server: KeyedFake;
let jobs: Job[];
/** Number of starts whose answer is lost after the job was made. */
let losing = 0;
before(async () => void (server = await serveKeyed(answer)));
after(() => server.close());

function answer(call: Call, letter: Letter): Answer {
  const [, , id, verb] = call.path.split('/');
  if (id === undefined) {
    const given = (call.headers['idempotency-key'] as string) ?? call.json().key ?? randomUUID();
    const known = jobs.find((job) => job.id === given && job.letter === letter);
    if (!known) jobs.push({ id: given, letter, state: 'running' });
    return losing-- > 0 ? { cutAfter: 0 } : { status: 201, json: { id: given, status: 'queued' } };
  }
  const job = jobs.find((each) => each.id === id && each.letter === letter);
  if (!job) return { status: 404, json: { error: 'no such job' } };
  if (verb === 'cancel') return { json: {} };
  const outputs = [`data:image/png;base64,${media.png.toString('base64')}`];
  return { json: job.state === 'done' ? { status: 'done', outputs } : { status: 'running' } };
}

const env = (...letters: Letter[]) => ({ OWN_KEY: letters.map((each) => keys[each]).join('\n') });

interface World {
  service: Service;
  account: TestAccount;
  operator: Person;
  /** Starts another process with these keys, whose worker runs the later rounds. */
  restarted(...letters: Letter[]): Promise<string>;
  /** Ends all running requests by their deadline. */
  end(): Promise<void>;
  /** Makes the request due, and works once. */
  step(id: string): Promise<void>;
}

async function open(kind: string): Promise<World> {
  const service = await startWebService({
    catalog: head(server.url) + kinds[kind],
    env: env('a', 'b'),
  });
  let app: App = service.app;
  return {
    service,
    account: await service.account({ open_jobs: 1_000 }),
    operator: await operatorOf(service),
    async restarted(...letters) {
      const { app: next, base } = await service.another(env(...letters));
      app = next;
      return base;
    },
    async end() {
      await service.db.run(sql`update requests set deadline_at = now(), wake_at = now()
        where status = 'IN_PROGRESS'`);
      await app.worker!.runOnce();
    },
    async step(id) {
      await wake(service, id);
      await app.worker!.runOnce();
    },
  };
}

/** A running job that began with key A. */
async function running({ service, account, step }: World): Promise<string> {
  // Key B is at its limit for a moment, because the turn of the keys is unknown.
  server.answers.b = limited(3);
  const id = await submitted(account, { prompt: 'x' }, 'own/image');
  await step(id);
  if ((await startsOf(service, id)).at(-1) !== 'a accepted') await step(id);
  delete server.answers.b;
  assert.equal((await startsOf(service, id)).at(-1), 'a accepted');
  await service.db.run(rawSql('delete from upstreams'));
  server.calls.length = 0;
  return id;
}

/** A request whose start with key A was lost after the job was made. */
async function lost(world: World): Promise<string> {
  server.answers.b = limited(3);
  losing = 1;
  const id = await submitted(world.account, { prompt: 'x' }, 'own/image');
  await world.step(id);
  if (!(await startsOf(world.service, id)).at(-1)!.startsWith('a')) await world.step(id);
  assert.equal((await startsOf(world.service, id)).at(-1), 'a unknown');
  delete server.answers.b;
  await world.service.db.run(rawSql('delete from upstreams'));
  server.calls.length = 0;
  return id;
}

const charged = (id: string, { service }: World) => moneyOf(service, id);

describe('several keys, jobs', () => {
  let world: World;
  before(async () => (world = await open('A')));
  after(() => world.service.stop());
  beforeEach(async () => {
    jobs = [];
    losing = 0;
    server.forget();
    await world.restarted('a', 'b');
    await world.end();
    await world.service.db.run(rawSql('delete from upstreams'));
    server.forget();
    world.service.log.length = 0;
  });

  test('are used in turn, and the key of a start is stored with its intent', async () => {
    const { service, account, step } = world;
    const starts: string[] = [];
    for (let i = 0; i < 4; i++) {
      const id = await submitted(account, { prompt: 'x' }, 'own/image');
      await step(id);
      starts.push(...(await startsOf(service, id)));
      for (const job of jobs) job.state = 'done';
      await step(id);
      assert.equal(await charged(id, world), 'reserve 10000, charge 10000');
    }
    assert.match(starts.join(), /^(a|b) accepted,(?!\1)(a|b) accepted,\1 accepted,\2 accepted$/);
    assert.equal(jobs.length, 4);
  });

  test('at their limit are paused one by one, and a job goes on with the next at once', async () => {
    const { service, account, step } = world;
    server.answers.a = limited(60);
    const ids: string[] = [];
    while (ids.length < 3) {
      const id = await submitted(account, { prompt: 'x' }, 'own/image');
      await step(id);
      if ((await startsOf(service, id)).at(-1) === 'a not_accepted') {
        assert.ok((await rowOf(service, id)).wakes_in! <= 0, 'it waits for a pause');
        await step(id);
      }
      ids.push(id);
    }
    const starts = await Promise.all(ids.map((id) => startsOf(service, id)));
    assert.equal(starts.flat().filter((each) => each === 'a not_accepted').length, 1);
    assert.equal(starts.flat().filter((each) => each === 'b accepted').length, 3);
    assert.deepEqual(await paused(service, 'own'), ['a m']);
    assert.equal(jobs.length, 3);
  });

  test('are each tried once until all are paused, and the first pause that ends resumes the upstream', async () => {
    const { service, account, step } = world;
    for (const letter of ['a', 'b'] as const) server.answers[letter] = wrongKey;
    const id = await submitted(account, { prompt: 'x' }, 'own/image');
    await step(id);
    await step(id);
    assert.deepEqual((await startsOf(service, id)).toSorted(), [
      'a not_accepted',
      'b not_accepted',
    ]);
    assert.deepEqual(await paused(service, 'own'), ['a', 'b', 'own']);
    const row = await rowOf(service, id);
    assert.deepEqual([row.status, row.slot], ['IN_PROGRESS', false], 'it holds a slot');
    assert.ok(row.wakes_in! > 30, String(row.wakes_in));
    server.forget();
    await endPause(service, 'own', 'b');
    await endPause(service, 'own', null);
    await step(id);
    assert.equal((await startsOf(service, id)).at(-1), 'b accepted');
    assert.equal(server.shown(), 'b');
  });

  test('keep a job with its key: polled with it after a restart with the keys in another order', async () => {
    const id = await running(world);
    await world.restarted('c', 'b', 'a');
    await world.step(id);
    assert.equal(server.shown(), 'a');
    assert.equal((await rowOf(world.service, id)).status, 'IN_PROGRESS');
    jobs[0]!.state = 'done';
    await world.step(id);
    assert.equal(server.shown(), 'aa');
    assert.equal(await charged(id, world), 'reserve 10000, charge 10000');
    assert.equal(jobs.length, 1);
  });

  test('keep a job with its key: cancelled with it at its deadline', async () => {
    const id = await running(world);
    await world.restarted('b', 'a');
    await passDeadline(world.service, id);
    await world.step(id);
    assert.equal(server.shown(/cancel$/), 'a');
    assert.doesNotMatch(server.shown(), /b/);
    assert.equal(await charged(id, world), 'reserve 10000, release 10000');
  });

  test('keep a start with its key: repeated with it, and there is one job', async () => {
    const id = await lost(world);
    await world.restarted('b', 'a');
    // After the refusal of a repeat, no other key is tried: only key A knows the job.
    server.answers.a = limited();
    await world.step(id);
    assert.deepEqual((await startsOf(world.service, id)).slice(-2), ['a unknown', 'a unknown']);
    server.forget();
    await world.step(id);
    assert.equal((await startsOf(world.service, id)).at(-1), 'a accepted');
    assert.equal(server.shown(), 'a');
    assert.deepEqual(
      jobs.map(({ letter }) => letter),
      ['a'],
    );
  });

  test('a refused poll delays polls of its key, and no others', async () => {
    const first = await running(world);
    server.answers.a = (call) => (call.method === 'GET' ? limited(100)() : null);
    const other = await submitted(world.account, { prompt: 'x' }, 'own/image');
    server.answers.a = limited(100);
    await world.step(other);
    if ((await startsOf(world.service, other)).at(-1) !== 'b accepted') await world.step(other);
    await world.step(first);
    server.calls.length = 0;
    await world.step(first);
    assert.doesNotMatch(server.shown(), /a/, 'it was polled while its key waits');
    // On a slow machine the other job's poll was due meanwhile.
    server.calls.length = 0;
    await world.step(other);
    assert.equal(server.shown(), 'b');
  });

  test('a removed key is like a removed upstream', async () => {
    const { service, operator } = world;
    const id = await running(world);
    const base = await world.restarted('b');
    await world.step(id);
    await world.step(id);
    assert.equal(server.shown(), '', 'another key was shown for it');
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    assert.equal(await charged(id, world), 'reserve 10000');
    const lines = service.log.map((line) => JSON.parse(line));
    const stranded = lines.filter(({ msg }) => msg.startsWith('jobs run at an upstream'));
    const name = `own#${nameOf('a')}`;
    assert.deepEqual(
      stranded.map(({ upstream, jobs: count }) => [upstream, count]),
      [[name, 1]],
    );
    const there = await fetch(`${base}/api/operator/attention`, {
      headers: { cookie: [...operator.cookies].map((each) => each.join('=')).join('; ') },
    });
    const { data } = (await there.json()) as any;
    const line = data.find(({ what }: any) => what === 'jobs_stranded');
    assert.deepEqual([line.count, line.of], [1, [name]]);
    await world.restarted('b', 'a');
    jobs[0]!.state = 'done';
    await world.step(id);
    assert.equal(await charged(id, world), 'reserve 10000, charge 10000');
    for (const text of service.log) assert.deepEqual(told(text), []);
  });

  test('show how many jobs run with each, and which key a start used', async () => {
    const { operator } = world;
    const id = await running(world);
    const { body } = await operator.call('GET', '/api/operator/upstreams');
    const { keys: shown } = body.data.find(({ name }: any) => name === 'own');
    assert.deepEqual(
      shown.map((each: any) => [each.key, each.in_use]),
      [
        [nameOf('a'), 1],
        [nameOf('b'), 0],
      ],
    );
    const request = await operator.call('GET', `/api/operator/requests/${id}`);
    assert.equal(request.body.attempts.at(-1).key, nameOf('a'));
    assert.deepEqual(told(request.text), []);
  });
});

describe('one key', () => {
  let world: World;
  before(async () => {
    world = await open('A');
    jobs = [];
    server.forget();
  });
  after(() => world.service.stop());

  test('is not named, and may be changed while its jobs run', async () => {
    const { service, account, operator, step } = world;
    await world.restarted('a');
    const id = await submitted(account, { prompt: 'x' }, 'own/image');
    await step(id);
    assert.deepEqual(await startsOf(service, id), ['null accepted']);
    await world.restarted('c');
    server.calls.length = 0;
    await step(id);
    assert.equal(server.shown(), 'c', 'the key that there is');
    // Key B comes behind A, so that jobs that began with A are polled with A.
    await world.restarted('a', 'b');
    jobs[0]!.state = 'done';
    await step(id);
    assert.equal(await charged(id, world), 'reserve 10000, charge 10000');
    const { app } = await service.another(env('a'));
    await app.stop();
    const rows = await service.db.run(rawSql(`select name from upstreams where name like '%#%'`));
    assert.deepEqual(rows, []);
    const { body } = await operator.call('GET', `/api/operator/requests/${id}`);
    assert.equal(body.attempts[0].key, null);
  });

  test('at its limit, pauses as it did: a pause before the next start, no other call', async () => {
    const { service, account, step } = world;
    await world.restarted('a');
    server.forget();
    server.answers.a = limited(60);
    const id = await submitted(account, { prompt: 'x' }, 'own/image');
    await step(id);
    assert.deepEqual(await startsOf(service, id), ['null not_accepted']);
    assert.ok((await rowOf(service, id)).wakes_in! > 30);
    assert.deepEqual([server.shown(), await paused(service, 'own')], ['a', ['own m']]);
  });
});

describe('a job that is found by our own key', () => {
  let world: World;
  before(async () => {
    world = await open('B');
    jobs = [];
    losing = 0;
    server.forget();
  });
  after(() => world.service.stop());

  test('is searched for with the key that it was begun with', async () => {
    const id = await lost(world);
    await world.restarted('b', 'a');
    await world.step(id);
    assert.equal(server.shown(), 'a');
    assert.deepEqual(
      await startsOf(world.service, id),
      (await startsOf(world.service, id)).slice(),
    );
    assert.equal((await startsOf(world.service, id)).at(-1), 'a accepted');
    assert.equal(jobs.length, 1);
  });
});

describe('a callback', () => {
  let service: Service;
  let account: TestAccount;
  let replicate: KeyedFake;
  const secretOf = (letter: Letter) =>
    `whsec_${Buffer.from(`secret of ${letter} ${'x'.repeat(20)}`).toString('base64')}`;
  before(async () => {
    replicate = await serveKeyed((call, letter) => {
      if (call.path === '/webhooks/default/secret') return { json: { key: secretOf(letter) } };
      if (call.method === 'POST')
        return { status: 201, json: { id: `${letter}1`, status: 'starting' } };
      return { json: { id: call.path.split('/').at(-1), status: 'processing' } };
    });
    service = await startWebService({
      catalog: `upstream: { name: own, adapter: replicate, url: "${replicate.url}", key_from: OWN_KEY }
models:
  - { id: own/image, kind: image, task: text-to-image, name: One, price: { unit: image, usd: "0.01" }, max: 4,
      upstream_model: maker/one, input_schema: { type: object, properties: { prompt: { type: string } } }, example: { prompt: x } }
`,
      env: { ...env('a', 'b'), FAREBOX_BASE_URL: 'https://callers.example.com/v1' },
    });
    account = await service.account();
  });
  after(async () => {
    await service.stop();
    await replicate.close();
  });

  const secret = Buffer.from('a secret of at least thirty-two characters');
  async function callBack(request_id: string, letter: Letter, base?: string) {
    const sig = signCallback(secret, { upstream: 'own', request_id, attempt: 1 });
    const body = JSON.stringify({ id: `${letter}1`, status: 'succeeded' });
    const at = String(Math.floor(Date.now() / 1000));
    const key = Buffer.from(secretOf(letter).slice(6), 'base64');
    const signed = createHmac('sha256', key).update(`m.${at}.${body}`).digest('base64');
    const headers = {
      'webhook-id': 'm',
      'webhook-timestamp': at,
      'webhook-signature': `v1,${signed}`,
      'content-type': 'application/json',
    };
    const path = `/v1/callbacks/own/${request_id}/1/${sig}`;
    return service.call('POST', path, { raw: body, headers, ...(base && { base }) });
  }

  test('is verified by the key of its attempt, also after the keys changed their order', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 2; i++) {
      const id = await submitted(account, { prompt: 'x' }, 'own/image');
      await service.app.worker!.runOnce();
      ids.push(id);
    }
    const letters = (await Promise.all(ids.map((id) => startsOf(service, id)))).map(
      ([first]) => first![0] as Letter,
    );
    assert.deepEqual(letters.toSorted(), ['a', 'b']);
    const { base } = await service.another(env('b', 'c', 'a'));
    for (const [i, id] of ids.entries()) {
      const own = letters[i]!;
      const other = own === 'a' ? 'b' : 'a';
      assert.equal((await callBack(id, other, base)).status, 401);
      assert.equal((await callBack(id, own, base)).status, 200);
    }
    const { base: without } = await service.another(env('c', 'b'));
    const ofA = ids[letters.indexOf('a')]!;
    assert.equal((await callBack(ofA, 'a', without)).status, 404, 'its key is gone');
    for (const text of service.log) assert.deepEqual(told(text), []);
  });
});
