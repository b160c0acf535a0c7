import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '../../src/lib/sql/sql.ts';
import { PollRefused, type JobState, type StoppedJob } from '../../src/upstreams/upstream.ts';
import { accept, createFake, images } from '../kit/fake.ts';
import { fakeCatalog } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import {
  age,
  card,
  gate,
  moneyOf,
  passDeadline,
  rounds,
  rowOf,
  submitted,
  wake,
  type Gate,
} from './floor.ts';

/** Callers cancel jobs that run: what the upstream does then, and what it costs. */

const image = (id: string, rule: string, routes = 'upstream: fake') => `
  - id: ${id}
    ${routes}
    kind: image
    task: text-to-image
    name: An image that can be stopped
    price: { unit: image, usd: "0.01" }
    cost_usd: "0.004"
    max: 4
    max_unit: images
    on_cancel: ${rule}
    input_schema: { type: object, properties: { prompt: { type: string }, num_images: { type: integer } }, required: [prompt] }
    example: { prompt: a cat }
`;
const two = 'upstreams: [{ upstream: fake, model: image }, { upstream: other, model: image }]';
const rows = ['free', 'upstream', 'full'].map((rule) => image(`${rule}/image`, rule)).join('');

const routed = image('routed/image', 'full', two).replace('    cost_usd: "0.004"\n', '');

const other = createFake({ name: 'other' });
const { service, account, fake } = withService({
  catalog: fakeCatalog + rows + routed,
  upstreams: [other],
  account: { open_jobs: 1_000 },
});
let stops: string[];
beforeEach(async () => {
  stops = [];
  for (const upstream of [fake, other]) {
    Object.assign(upstream, { behave: {}, class: 'A', find: undefined });
    upstream.cancel = async ({ key }) => void stops.push(String(key));
  }
  await service.db.run(sql`update upstreams set paused_until = null, failures = 0`);
  await rounds(service, 3);
});

const running: JobState = { state: 'running' };
const stopped = (told: Partial<StoppedJob> = {}): JobState => ({
  state: 'stopped',
  code: 'upstream_failed',
  message: 'It was cancelled.',
  ...told,
});

/** Submits four images to a model and brings them to a running job. */
async function runningJob(model: string): Promise<string> {
  const id = await submitted(account, { prompt: 'a cat', num_images: 4 }, model);
  fake.behave.poll ??= () => running;
  await service.work();
  assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
  return id;
}

function cancel(id: string, query = '?running=true', key = account.key) {
  return service.call('POST', `/v1/requests/${id}/cancel${query}`, { key });
}

async function asked(id: string): Promise<string> {
  const reply = await cancel(id);
  assert.equal(reply.status, 202, reply.text);
  const { request_id, status, cancel_requested_at } = reply.body;
  assert.deepEqual([request_id, status], [id, 'IN_PROGRESS']);
  return cancel_requested_at;
}

/** The upstream's own jobs end as soon as it is asked to stop them. */
function stopsAtOnce(told: Partial<StoppedJob> = {}): void {
  fake.behave.poll = ({ key }) => (stops.includes(String(key)) ? stopped(told) : running);
}

async function outcome(id: string): Promise<string> {
  const { status, charged_usd_micro, error } = await card(account, id);
  return [status, error?.code, charged_usd_micro].filter(Boolean).join(' ');
}

const costOf = async (id: string) => {
  const [row] = await service.db.run<{ cost: bigint | null; quantity: number | null }>(sql`
    select cost_usd_micro as cost, quantity from request_results where request_id = ${id}`);
  return row && [row.cost, row.quantity];
};

describe('a job that its caller cancels and its upstream stops', () => {
  const charges: [
    model: string,
    says: string,
    told: Partial<StoppedJob>,
    charge: string,
    cost: [bigint | null, number | null],
  ][] = [
    ['free/image', 'nothing', {}, '0', [null, null]],
    ['free/image', 'a cost', { cost_usd_micro: 9_000n }, '0', [9_000n, null]],
    ['free/image', 'units', { quantity: 3 }, '0', [12_000n, 3]],
    ['upstream/image', 'nothing', {}, '40000', [null, null]],
    ['upstream/image', 'two units', { quantity: 2 }, '20000', [8_000n, 2]],
    ['upstream/image', 'a part of a unit', { quantity: 0.25 }, '2500', [1_000n, 0.25]],
    ['upstream/image', 'no unit', { quantity: 0 }, '0', [0n, 0]],
    ['upstream/image', 'more units than asked for', { quantity: 9 }, '40000', [36_000n, 9]],
    ['upstream/image', 'a negative number of units', { quantity: -1 }, '40000', [null, null]],
    ['upstream/image', 'units that are no number', { quantity: NaN }, '40000', [null, null]],
    ['upstream/image', 'a cost', { cost_usd_micro: 7_001n }, '7001', [7_001n, null]],
    ['upstream/image', 'a cost of nothing', { cost_usd_micro: 0n }, '0', [0n, null]],
    ['upstream/image', 'a cost above all', { cost_usd_micro: 90_000n }, '40000', [90_000n, null]],
    ['upstream/image', 'a negative cost', { cost_usd_micro: -5n }, '40000', [null, null]],
    [
      'upstream/image',
      'units and a cost',
      { quantity: 1, cost_usd_micro: 30_000n },
      '10000',
      [30_000n, 1],
    ],
    ['full/image', 'nothing', {}, '40000', [null, null]],
    ['full/image', 'units', { quantity: 1 }, '40000', [4_000n, 1]],
  ];
  for (const [model, says, told, charge, cost] of charges) {
    test(`of ${model}, which tells ${says}: ${charge} of 40000`, async () => {
      stopsAtOnce(told);
      const id = await runningJob(model);
      const at = await asked(id);
      await rounds(service, 3);
      assert.equal(await outcome(id), `CANCELLED ${charge}`);
      assert.deepEqual(await costOf(id), cost);
      assert.deepEqual(stops, [id]);
      assert.equal(
        await moneyOf(service, id),
        charge === '0' ? 'reserve 40000, release 40000' : `reserve 40000, charge ${charge}`,
      );
      const { cancel_requested_at, output_urls } = await card(account, id);
      assert.deepEqual([cancel_requested_at, output_urls], [at, []]);
      const after = await cancel(id);
      assert.equal(after.body.error.code, 'not_cancellable');
      assert.equal(after.body.error.details.status, 'CANCELLED');
      await service.audit();
    });
  }

  test('shows it everywhere, and what it cost', async () => {
    stopsAtOnce({ quantity: 1 });
    const id = await runningJob('upstream/image');
    const before = await service.call('GET', `/v1/requests/${id}/status`, { key: account.key });
    assert.equal('cancel_requested_at' in before.body, false);
    const at = await asked(id);
    const { key } = account;
    const shown = async (path: string) => (await service.call('GET', path, { key })).body;
    assert.equal((await shown(`/v1/requests/${id}/status`)).cancel_requested_at, at);
    assert.equal((await shown('/v1/requests?limit=1')).data[0].cancel_requested_at, at);
    await rounds(service, 3);
    const end = await shown(`/v1/requests/${id}/status`);
    assert.deepEqual([end.status, end.cancel_requested_at], ['CANCELLED', at]);
    const response = await service.call('GET', `/v1/requests/${id}/response`, { key });
    assert.equal(response.status, 409);
    assert.match(response.body.error.message, /was cancelled\. 0\.01 USD was charged/);
    const today = new Date().toISOString().slice(0, 10);
    const usage = await shown(`/v1/usage?by=model&from=${today}`);
    const line = usage.data.find(
      (each: { model_id: string }) => each.model_id === 'upstream/image',
    );
    assert.ok(BigInt(line.charged_usd_micro) >= 10_000n);
  });
});

describe('a result that was faster', () => {
  test('wins if the upstream has it before it is asked, which it is not', async () => {
    fake.behave.poll = () => running;
    const id = await runningJob('full/image');
    await asked(id);
    fake.behave.poll = () => ({ state: 'done', result: images(2) });
    await rounds(service, 2);
    assert.equal(await outcome(id), 'COMPLETED 20000');
    assert.deepEqual(stops, []);
    assert.ok((await card(account, id)).cancel_requested_at);
  });

  test('wins if the job is done although its upstream has taken the cancel', async () => {
    const id = await runningJob('free/image');
    await asked(id);
    await rounds(service, 2);
    assert.deepEqual(stops, [id]);
    fake.behave.poll = () => ({ state: 'done', result: images(4) });
    await rounds(service, 1);
    assert.equal(await outcome(id), 'COMPLETED 40000');
  });

  test('loses if the cancel came first, however late the upstream says so', async () => {
    const id = await runningJob('full/image');
    await asked(id);
    await rounds(service, 6);
    assert.deepEqual(stops, [id], 'the upstream took it, so it is asked once');
    fake.behave.poll = () => stopped();
    await rounds(service, 1);
    assert.equal(await outcome(id), 'CANCELLED 40000');
  });
});

describe('an upstream that does not stop the job', () => {
  test('goes on until its age, and the job is free', async () => {
    const id = await runningJob('full/image');
    await asked(id);
    await rounds(service, 4);
    assert.deepEqual(stops, [id]);
    await passDeadline(service, id);
    await service.work();
    assert.equal(await outcome(id), 'FAILED timeout 0');
    assert.equal(await moneyOf(service, id), 'reserve 40000, release 40000');
  });

  test('fails: the job has failed, at no cost', async () => {
    const id = await runningJob('full/image');
    await asked(id);
    await rounds(service, 2);
    fake.behave.poll = () => ({ state: 'failed', code: 'upstream_failed', message: 'It broke.' });
    await rounds(service, 1);
    assert.equal(await outcome(id), 'FAILED upstream_failed 0');
  });

  const errors: Record<string, () => Error> = {
    'an error': () => new Error('502'),
    'a reset connection': () => Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
    'a rate limit': () => new PollRefused('slow down', 'busy', 1),
  };
  for (const [what, error] of Object.entries(errors)) {
    test(`answers with ${what} three times: it is asked again, and stops then`, async () => {
      stopsAtOnce();
      let tries = 0;
      fake.cancel = async ({ key }) => {
        if (++tries <= 3) throw error();
        stops.push(String(key));
      };
      const id = await runningJob('full/image');
      await asked(id);
      for (let i = 0; i < 12 && stops.length === 0; i++) {
        await service.db.run(sql`update upstreams set paused_until = null`);
        await rounds(service, 1);
      }
      await rounds(service, 1);
      assert.deepEqual([tries, await outcome(id)], [4, 'CANCELLED 40000']);
    });
  }

  test('is not asked without pauses', async () => {
    let tries = 0;
    fake.cancel = async () => {
      tries++;
      throw new Error('502');
    };
    const id = await runningJob('full/image');
    await asked(id);
    for (let i = 0; i < 5; i++) await rounds(service, 1);
    assert.ok((await rowOf(service, id)).wakes_in! > 0.5, 'pauses grow');
    assert.ok(tries <= 6, `${tries}`);
    await passDeadline(service, id);
    await service.work();
    assert.equal(await outcome(id), 'FAILED timeout 0');
  });
});

describe('a job that its upstream no longer knows', () => {
  const missing: JobState = { state: 'missing', message: 'unknown' };

  test('has stopped, if that was asked for', async () => {
    fake.behave.poll = ({ key }) => (stops.includes(String(key)) ? missing : running);
    const id = await runningJob('upstream/image');
    await asked(id);
    await rounds(service, 6);
    assert.equal(await outcome(id), 'CANCELLED 40000');
  });

  test('is lost, and free, if the upstream was not asked yet', async () => {
    const id = await runningJob('full/image');
    await asked(id);
    fake.behave.poll = () => missing;
    await rounds(service, 6);
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    await age(service, id);
    await rounds(service, 1);
    assert.deepEqual([await outcome(id), stops], ['FAILED upstream_failed 0', []]);
  });
});

test('a job that was stopped without being asked has failed as ever', async () => {
  for (const model of ['fake/image', 'full/image']) {
    const id = await runningJob(model);
    fake.behave.poll = () => stopped({ cost_usd_micro: 5n });
    await rounds(service, 1);
    assert.equal(await outcome(id), 'FAILED upstream_failed 0');
    fake.behave.poll = () => running;
  }
});

describe('a start', () => {
  test('that is under way: the job is stopped as soon as it has a name', async () => {
    stopsAtOnce();
    const slow = gate();
    fake.behave.start = async (job) => {
      await slow.pass();
      return { ...accept(fake, job), poll_after_ms: 60_000 };
    };
    const id = await submitted(account, { prompt: 'a cat', num_images: 4 }, 'full/image');
    const work = service.work();
    await slow.reached;
    await asked(id);
    assert.deepEqual(stops, []);
    slow.open();
    await work;
    await service.work();
    assert.deepEqual(stops, [id], 'without waiting for the time that the upstream named');
    await rounds(service, 1);
    assert.equal(await outcome(id), 'CANCELLED 40000');
  });

  test('that no upstream took is not repeated: nothing ran, so it is free', async () => {
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'busy' });
    const id = await runningJob('full/image');
    const { length } = fake.starts;
    fake.behave.start = () => assert.fail('started again');
    await asked(id);
    await service.work();
    assert.equal(await outcome(id), 'CANCELLED 0');
    assert.equal(await moneyOf(service, id), 'reserve 40000, release 40000');
    assert.deepEqual([fake.starts.length, stops], [length, []]);
    assert.deepEqual(await costOf(id), [0n, null]);
  });

  test('that is refused while the cancel comes goes to no other upstream', async () => {
    const slow = gate();
    fake.behave.start = async () => {
      await slow.pass();
      return { outcome: 'not_accepted', message: 'busy' };
    };
    const { length } = other.starts;
    const id = await submitted(account, { prompt: 'x', num_images: 1 }, 'routed/image');
    const work = service.work();
    await slow.reached;
    await asked(id);
    slow.open();
    await work;
    await rounds(service, 2);
    assert.deepEqual([await outcome(id), other.starts.length - length], ['CANCELLED 0', 0]);
  });

  test('whose answer was lost is found first, then stopped (class A)', async () => {
    stopsAtOnce({ quantity: 1 });
    fake.behave.start = (job) => {
      accept(fake, job);
      return { outcome: 'unknown', message: 'reset' };
    };
    const id = await runningJob('upstream/image');
    await asked(id);
    fake.behave.start = undefined as never;
    await rounds(service, 4);
    assert.deepEqual([await outcome(id), stops], ['CANCELLED 10000', [id]]);
    assert.equal(fake.starts.filter(({ request_id }) => request_id === id).length, 2);
  });

  test('whose answer was lost, and that is not found, is not sent again (class B)', async () => {
    fake.class = 'B';
    fake.find = async () => null;
    fake.behave.start = () => ({ outcome: 'unknown', message: 'reset' });
    const id = await runningJob('full/image');
    await asked(id);
    fake.behave.start = () => assert.fail('started again');
    await rounds(service, 3);
    assert.equal(await outcome(id), 'CANCELLED 0');
  });

  test('whose answer was lost for good has an unknown outcome, and is free (class C)', async () => {
    fake.class = 'C';
    fake.behave.start = () => ({ outcome: 'unknown', message: 'reset', answer: 'slow' });
    const id = await submitted(account, { prompt: 'x', num_images: 4 }, 'full/image');
    await service.app.worker!.runOnce();
    await cancel(id);
    await rounds(service, 2);
    assert.equal(await outcome(id), 'FAILED outcome_unknown 0');
  });
});

describe('the process that has the job dies', () => {
  /** The process hangs at its gate until another one has ended the request. */
  const deaths: Record<string, (at: Gate) => void> = {
    'during the poll that finds it running': (at) => {
      let polls = 0;
      fake.behave.poll = async ({ key }) => {
        if (++polls === 2) await at.pass();
        return stops.includes(String(key)) ? stopped() : running;
      };
    },
    'before the upstream gets the call': (at) => {
      stopsAtOnce();
      let calls = 0;
      fake.cancel = async ({ key }) => {
        if (++calls === 1) {
          await at.pass();
          throw new Error('died');
        }
        stops.push(String(key));
      };
    },
    'after the upstream has taken the call, before that is noted': (at) => {
      stopsAtOnce();
      fake.cancel = async ({ key }) => {
        stops.push(String(key));
        if (stops.length === 1) await at.pass();
      };
    },
    'after the upstream has taken the call, and forgets the job': (at) => {
      fake.behave.poll = ({ key }) =>
        stops.includes(String(key)) ? { state: 'missing', message: 'unknown' } : running;
      fake.cancel = async ({ key }) => {
        stops.push(String(key));
        if (stops.length === 1) await at.pass();
      };
    },
    'while it hears that the job has stopped': (at) => {
      let heard = 0;
      fake.behave.poll = async ({ key }) => {
        if (!stops.includes(String(key))) return running;
        if (++heard === 1) await at.pass();
        return stopped();
      };
    },
  };
  for (const [when, arrange] of Object.entries(deaths)) {
    test(`${when}: another one ends it once`, async () => {
      const at = gate();
      arrange(at);
      const id = await submitted(account, { prompt: 'x', num_images: 4 }, 'full/image');
      await service.app.worker!.runOnce();
      await wake(service, id);
      await service.app.worker!.runOnce();
      await asked(id);
      const { app } = await service.another();
      let isHanging = false;
      void at.reached.then(() => (isHanging = true));
      const dying: Promise<unknown>[] = [];
      for (let i = 0; i < 6 && !isHanging; i++) {
        await wake(service, id);
        dying.push(service.app.worker!.runOnce());
        await Promise.race([dying.at(-1), at.reached]);
      }
      assert.ok(isHanging, 'it died there');
      for (let i = 0; i < 8 && (await rowOf(service, id)).status === 'IN_PROGRESS'; i++) {
        await wake(service, id);
        await app.worker!.runOnce();
      }
      assert.equal(await outcome(id), 'CANCELLED 40000');
      at.open();
      await Promise.all(dying);
      assert.equal(await moneyOf(service, id), 'reserve 40000, charge 40000');
      await service.audit();
    });
  }
});

describe('the call', () => {
  test('is the plain cancel while the request waits', async () => {
    const id = await submitted(account, { prompt: 'x' }, 'full/image');
    const reply = await cancel(id);
    assert.deepEqual([reply.status, reply.body], [200, { request_id: id, status: 'CANCELLED' }]);
    const { cancel_requested_at, started_at } = await card(account, id);
    assert.deepEqual([cancel_requested_at, started_at], [null, null]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('repeated gets the first time, and asks the upstream once', async () => {
    const id = await runningJob('free/image');
    const [first, second] = await Promise.all([asked(id), asked(id)]);
    await pause(5);
    assert.deepEqual([second, await asked(id)], [first, first]);
    const by = { method: 'PUT', path: `/v1/requests/${id}/cancel?running=true` };
    const put = await service.call(by.method, by.path, { key: account.key });
    assert.deepEqual([put.status, put.body.cancel_requested_at], [202, first]);
    await rounds(service, 3);
    assert.deepEqual(stops, [id]);
    fake.behave.poll = () => stopped();
    await rounds(service, 1);
  });

  const refusals: [what: string, model: string, query: string, status: number, code: string][] = [
    ['without running', 'free/image', '', 409, 'not_cancellable'],
    ['with running=false', 'free/image', '?running=false', 409, 'not_cancellable'],
    ['of a row without on_cancel', 'fake/image', '?running=true', 409, 'not_cancellable'],
    ['with a running that is neither', 'free/image', '?running=1', 400, 'bad_request'],
    ['with an empty running', 'free/image', '?running=', 400, 'bad_request'],
  ];
  for (const [what, model, query, status, code] of refusals) {
    test(`${what} is ${status} ${code} and changes nothing`, async () => {
      const id = await runningJob(model);
      const reply = await cancel(id, query);
      assert.deepEqual([reply.status, reply.body.error.code], [status, code]);
      if (status === 409) assert.equal(reply.body.error.details.status, 'IN_PROGRESS');
      await rounds(service, 2);
      const { cancel_requested_at } = await card(account, id);
      assert.deepEqual([cancel_requested_at, stops], [null, []]);
      fake.behave.poll = () => ({ state: 'done', result: images(1) });
      await rounds(service, 1);
      assert.equal(await outcome(id), 'COMPLETED 10000');
    });
  }

  test('of another account is 404 and changes nothing', async () => {
    const id = await runningJob('free/image');
    const stranger = await service.account();
    const reply = await cancel(id, '?running=true', stranger.key);
    assert.deepEqual([reply.status, reply.body.error.code], [404, 'not_found']);
    assert.equal((await card(account, id)).cancel_requested_at, null);
  });

  test('with a key that only makes keys is 403', async () => {
    const id = await runningJob('free/image');
    const { key } = await service.account({ scope: 'keys' } as never);
    const reply = await cancel(id, '?running=true', key);
    assert.deepEqual([reply.status, reply.body.error.code], [403, 'forbidden']);
  });

  test('keeps the rule of the moment when it was made', async () => {
    stopsAtOnce();
    const id = await runningJob('free/image');
    await asked(id);
    await service.db
      .run(sql`select on_cancel from requests where id = ${id}`)
      .then(([row]) => assert.deepEqual({ ...row }, { on_cancel: 'free' }));
    await rounds(service, 3);
    assert.equal(await outcome(id), 'CANCELLED 0');
  });
});

test("Replicate's cancel stops what can be stopped; fal's stays plain", async () => {
  stopsAtOnce();
  const { key } = account;
  const replicate = (id: string) =>
    service.call('POST', `/v1/predictions/${id}/cancel`.replace('/v1', '/replicate/v1'), { key });
  const fixed = await runningJob('fake/image');
  const left = await replicate(fixed);
  assert.deepEqual([left.status, left.body.status], [200, 'processing']);
  const id = await runningJob('free/image');
  const path = `/fal/queue.fal.run/free/image/requests/${id}/cancel`;
  const fal = await service.call('PUT', path, { key });
  assert.equal(fal.status, 400);
  assert.equal((await card(account, id)).cancel_requested_at, null);
  const reply = await replicate(id);
  assert.deepEqual([reply.status, reply.body.status], [200, 'processing']);
  await rounds(service, 3);
  assert.equal(await outcome(id), 'CANCELLED 0');
  const now = await service.call('GET', `/replicate/v1/predictions/${id}`, { key });
  assert.equal(now.body.status, 'canceled');
});
