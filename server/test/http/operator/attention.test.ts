/** The part "Needs attention" of the operator's overview. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { createFake, images } from '../../kit/fake.ts';
import { until } from '../../kit/until.ts';
import { before, operatorOf, person, withWebService, type Person } from '../../kit/web.ts';

let operator: Person;
const fake = createFake({ class: 'C' });
const { service, account: customer } = withWebService(async () => ({ fake, account: { usd: 10 } }));
before(async () => {
  operator = await operatorOf(service);
});
afterEach(() => {
  fake.behave = {};
});

type Line = { what: string; count: number; of: string[]; since?: string };
const lines = async (): Promise<Line[]> => {
  const { status, body, text } = await operator.call('GET', '/api/operator/attention');
  assert.equal(status, 200, text);
  return body.data;
};
const change = (text: string) => service.db.run(rawSql(text));
const act = async (path: string) => {
  const { status, text } = await operator.call('POST', `/api/operator${path}`, {});
  assert.equal(status, 200, text);
};
const submit = async () => {
  const call = { key: customer.key, body: { prompt: 'a cat' } };
  const { status, body, text } = await service.call('POST', '/v1/queue/fake/image', call);
  assert.equal(status, 202, text);
  return body.request_id as string;
};

/** Asserts one line, about one unknown outcome of a moment ago. */
async function oneDoubt(): Promise<void> {
  const [{ since, ...line }, ...rest] = (await lines()) as [Line];
  assert.deepEqual(rest, []);
  assert.deepEqual(line, { what: 'unknown_outcomes', count: 1, of: ['fake 1'] });
  assert.ok(Math.abs(Date.now() - Date.parse(since!)) < 60_000, since);
}

describe('the operator sees', () => {
  test('nothing if all is well', async () => {
    await submit();
    await service.work();
    await act('/audit');
    assert.deepEqual(await lines(), []);
  });

  test('that an upstream refuses the key, until a start succeeds', async () => {
    const said = { outcome: 'not_accepted', why: 'credential', message: 'bad key' } as const;
    fake.behave.start = () => said;
    await submit();
    await service.work();
    assert.deepEqual(await lines(), [
      { what: 'credential_refused', count: 1, of: ['fake'] },
      { what: 'upstream_paused', count: 1, of: ['fake'] },
    ]);
    fake.behave = {};
    await change('update requests set wake_at = now() where completed_at is null');
    await service.work();
    assert.deepEqual(await lines(), []);
  });

  test('that it refuses the key or the credit, until an operator ends its pause', async () => {
    for (const [why, what] of Object.entries({
      account: 'credit_used_up',
      credential: 'credential_refused',
    })) {
      await change(`update upstreams set last_error = 'no', last_why = '${why}' where model = ''`);
      assert.deepEqual(await lines(), [{ what, count: 1, of: ['fake'] }]);
    }
    await act('/upstreams/fake/resume');
    assert.deepEqual(await lines(), []);
  });

  test('current pauses, and not earlier ones', async () => {
    await change(`insert into upstreams (name, model, paused_until)
      values ('fake', 'big', now() + interval '1 min'), ('fake', 'old', now() - interval '1 min')`);
    assert.deepEqual(await lines(), [{ what: 'model_paused', count: 1, of: ['fake big'] }]);
    await change(`update upstreams set paused_until = now() + interval '1 min' where model = ''`);
    assert.deepEqual(
      (await lines()).map(({ what }) => what),
      ['upstream_paused', 'model_paused'],
    );
    await act('/upstreams/fake/resume');
    assert.deepEqual(await lines(), []);
  });

  test('a queue that is nearly too old, and no younger one', async () => {
    await submit();
    await change(`update requests set created_at = now() - interval '7 min'
      where status = 'IN_QUEUE'`);
    assert.deepEqual(await lines(), []);
    await change(`update requests set created_at = now() - interval '8 min'
      where status = 'IN_QUEUE'`);
    assert.deepEqual(await lines(), [{ what: 'queue_old', count: 1, of: ['fake'] }]);
    await service.work();
    assert.deepEqual(await lines(), []);
  });

  test('jobs that run at an upstream that is no longer set up', async () => {
    fake.behave.poll = () => ({ state: 'running' });
    await submit();
    await submit();
    await service.app.worker!.runOnce();
    assert.deepEqual(await lines(), []);
    await change(`update requests set upstream = 'gone' where status = 'IN_PROGRESS'`);
    assert.deepEqual(await lines(), [{ what: 'jobs_stranded', count: 2, of: ['gone'] }]);
    fake.behave = {};
    await change(`update requests set upstream = 'fake', wake_at = now()
      where status = 'IN_PROGRESS'`);
    await service.work();
    assert.deepEqual(await lines(), []);
  });

  test('unknown outcomes, until each is resolved', async () => {
    fake.behave.start = () => ({ outcome: 'unknown', message: 'cut off' });
    await submit();
    await service.work();
    await change(`update requests set deadline_at = now(), wake_at = now()
      where completed_at is null`);
    await service.work();
    await oneDoubt();
    const { body } = await operator.call('GET', '/api/operator/unknown');
    const path = `/api/operator/requests/${body.data[0].request_id}/resolve`;
    await operator.call('POST', path, { outcome: 'did_not_run' });
    assert.deepEqual(await lines(), []);
  });

  test('all unknown outcomes in one line, until a selection of them is resolved', async () => {
    fake.behave.start = () => ({ outcome: 'unknown', message: 'cut off' });
    const ids = [await submit(), await submit(), await submit(), await submit()];
    await service.work();
    await change(`update requests set deadline_at = now(), wake_at = now()
      where completed_at is null`);
    await service.work();
    const [before, elsewhere, ...those] = ids;
    await change(`update request_results set created_at = now() - interval '2 hours'
      where request_id = '${before}'`);
    await change(`update request_results set doubt_upstream = 'other'
      where request_id = '${elsewhere}'`);
    const [line, ...rest] = (await lines()) as [Line];
    assert.deepEqual(rest, []);
    assert.deepEqual(
      [line.what, line.count, line.of],
      ['unknown_outcomes', 4, ['fake 3', 'other 1']],
    );
    const { body } = await operator.call('GET', '/api/operator/unknown?upstream=fake');
    assert.equal(body.data.length, 3);
    assert.deepEqual(
      body.by_upstream.map((sum: any) => [sum.upstream, sum.count]),
      [
        ['fake', 3],
        ['other', 1],
      ],
    );
    assert.equal(body.by_upstream[0].oldest_at, line.since);
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const found = { upstream: 'fake', since, outcome: 'ran', cost_usd_micro: '7', note: 'invoice' };
    for (const resolved of [2, 0]) {
      const reply = await operator.call('POST', '/api/operator/unknown/resolve', found);
      assert.deepEqual(reply.body, { resolved, is_all: true });
    }
    const costs = await service.db.run<{ id: string; cost: bigint }>(
      rawSql(
        `select request_id as id, cost_usd_micro as cost from request_results
        where request_id = any($1::uuid[]) and cost_usd_micro is not null order by 1`,
        [`{${ids.join(',')}}`],
      ),
    );
    assert.deepEqual(
      costs,
      those.map((id) => ({ id, cost: 7n })),
    );
    const noted = await operator.call('GET', '/api/operator/unknown?state=resolved&limit=2');
    assert.deepEqual(
      noted.body.data.map((row: any) => [row.request_id, row.resolution.note]),
      those.toReversed().map((id) => [id, 'invoice']),
    );
    const { data } = (await operator.call('GET', '/api/operator/log?action=request.resolve_many'))
      .body;
    assert.deepEqual(
      data.map((row: any) => row.details.resolved),
      [0, 2],
    );
    await service.audit();
    for (const upstream of ['fake', 'other'])
      await operator.call('POST', '/api/operator/unknown/resolve', {
        upstream,
        since: '2020-01-01T00:00:00Z',
        outcome: 'did_not_run',
      });
    assert.deepEqual(await lines(), []);
  });

  test('jobs that ran out of time at an unknown cost, and no others', async () => {
    fake.behave.poll = () => ({ state: 'running' });
    const job = await submit();
    await service.work();
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'busy' });
    await submit();
    await service.work();
    await change(`update requests set deadline_at = now(), wake_at = now()
      where completed_at is null`);
    await service.work();
    await oneDoubt();
    const { body } = await operator.call('GET', '/api/operator/unknown');
    assert.equal(body.data[0].request_id, job);
    const path = `/api/operator/requests/${job}/resolve`;
    await operator.call('POST', path, { outcome: 'did_not_run' });
    assert.deepEqual(await lines(), []);
  });

  test('catalog files with problems, and the rows that they leave out', async () => {
    const path = join(service.dir, 'catalog', 'broken.yaml');
    writeFileSync(path, 'upstream: fake\nmodels:\n  - { id: broken/image, kind: smell }\n');
    await service.app.catalog.reload();
    const [problems, left, ...more] = await lines();
    assert.deepEqual([problems!.what, problems!.of], ['catalog_problems', ['broken.yaml']]);
    assert.ok(problems!.count > 0);
    assert.deepEqual(left, { what: 'rows_left_out', count: 1, of: ['broken/image'] });
    assert.deepEqual(more, []);
    rmSync(path);
    await service.app.catalog.reload();
    assert.deepEqual(await lines(), []);
  });

  test('rows that are sold below their stated cost', async () => {
    const path = join(service.dir, 'catalog', 'fake.yaml');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('cost_usd: "0.004"', 'cost_usd: "0.04"'));
    await service.app.catalog.reload();
    assert.deepEqual(await lines(), [{ what: 'sold_below_cost', count: 1, of: ['fake/image'] }]);
    writeFileSync(path, text);
    await service.app.catalog.reload();
    assert.deepEqual(await lines(), []);
  });

  test('books that do not balance, and an old audit', async () => {
    const found = JSON.stringify([{ law: 'sums are zero', says: 'x', found: [] }]);
    await change(`update audit_results set ok = false, violations = '${found}'`);
    assert.deepEqual(await lines(), [{ what: 'books_broken', count: 1, of: ['sums are zero'] }]);
    await change(`update audit_results set ok = true, violations = '[]',
      created_at = now() - interval '3 hours'`);
    assert.deepEqual(await lines(), [{ what: 'books_old', count: 1, of: [] }]);
    await act('/audit');
    assert.deepEqual(await lines(), []);
  });

  test('models that cost more than they brought, and can stop and resume one', async () => {
    fake.behave.start = () => ({
      outcome: 'done',
      result: { ...images(1), cost_usd_micro: 2_000_000n },
    });
    await submit();
    await service.work();
    const [line] = (await lines()) as [Line];
    assert.deepEqual([line.what, line.count, line.of], ['costs_exceed_charges', 1, ['fake/image']]);
    const change = (status: string) =>
      operator.call('PATCH', '/api/operator/models/fake/image', { status });
    assert.equal((await change('stopped')).status, 200);
    const call = { key: customer.key, body: { prompt: 'a cat' } };
    const asked = fake.starts.length;
    await until('it is stopped', async () => {
      return (await service.call('POST', '/v1/queue/fake/image', call)).status === 503;
    });
    await service.work();
    assert.equal(fake.starts.length, asked, 'nothing was started');
    assert.equal((await change('live')).status, 200);
    await until('it is sold again', async () => {
      return (await service.call('POST', '/v1/queue/fake/image', call)).status === 202;
    });
  });
});

test('nothing of this as a person who is not an operator', async () => {
  const owner = await person(service, { [customer.account_id]: 'owner' });
  assert.equal((await owner.call('GET', '/api/operator/attention')).status, 404);
});
