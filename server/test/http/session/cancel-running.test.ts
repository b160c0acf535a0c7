/** Running jobs are cancelled from the studio, by people who may spend, and by the operator. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { sql } from '../../../src/lib/sql/sql.ts';
import { fakeCatalog } from '../../kit/service.ts';
import { operatorOf, person, startWebService } from '../../kit/web.ts';
import { withService } from '../../kit/with-service.ts';

// Only the first row, fake/image, gets it.
const catalog = fakeCatalog.replace('    max: 4\n', '    max: 4\n    on_cancel: full\n');
const { service } = withService({ catalog }, startWebService);
beforeEach(() => {
  service.fake.behave.poll = () => ({ state: 'running' });
  service.fake.cancel = async () => {
    const stopped = { state: 'stopped', code: 'upstream_failed', message: 'x' } as const;
    service.fake.behave.poll = () => stopped;
  };
});

async function runningJob(model = 'fake/image', input: object = { prompt: 'a cat' }) {
  const account = await service.account({ usd: 10 });
  const owner = (await person(service, { [account.account_id]: 'owner' })).of(account.account_id);
  const { body } = await owner.call('POST', `/v1/queue/${model}`, input);
  await service.work();
  return { account, owner, id: body.request_id as string };
}

async function finish(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await service.wakeAll();
    await service.work();
  }
}

test('in the studio by who may spend, and by nobody else', async () => {
  const { account, owner, id } = await runningJob();
  const path = `/v1/requests/${id}/cancel?running=true`;
  for (const role of ['billing', 'read_only'] as const) {
    const reader = await person(service, { [account.account_id]: role });
    assert.equal((await reader.of(account.account_id).call('POST', path)).status, 403, role);
  }
  const asked = await owner.call('POST', path);
  assert.deepEqual([asked.status, asked.body.status], [202, 'IN_PROGRESS']);
  const { cancel_requested_at } = asked.body;
  const shown = await owner.call('GET', `/requests/${id}`);
  assert.equal(shown.body.cancel_requested_at, cancel_requested_at);
  await finish();
  const { body } = await owner.call('GET', `/requests?id=${id}`);
  const [line] = body.data;
  assert.deepEqual(
    [line.status, line.charged_usd_micro, line.cancel_requested_at],
    ['CANCELLED', '10000', cancel_requested_at],
  );
});

test('by the operator, who leaves a row in the log', async () => {
  const operator = await operatorOf(service);
  const { id } = await runningJob();
  const path = `/api/operator/requests/${id}/cancel`;
  const plain = await operator.call('POST', path, {});
  assert.deepEqual([plain.status, plain.body.error.code], [409, 'not_cancellable']);
  const asked = await operator.call('POST', `${path}?running=true`, {});
  assert.deepEqual([asked.status, asked.body.status], [200, 'IN_PROGRESS']);
  const rows = await service.db.run<{ action: string; details: object }>(sql`
    select action, details from operator_log where target = ${id}`);
  const details = { model_id: 'fake/image', upstream: 'fake', running: true };
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ action: 'request.cancel', details }],
  );
  await finish();
  const shown = await operator.call('GET', `/api/operator/requests/${id}`);
  assert.deepEqual(
    [shown.body.status, shown.body.charged_usd_micro, shown.body.cancel_requested_at],
    ['CANCELLED', '10000', asked.body.cancel_requested_at],
  );
});

test('by the operator, not if its row does not offer it', async () => {
  const operator = await operatorOf(service);
  const { id } = await runningJob('fake/film/text-to-video', { prompt: 'x' });
  const path = `/api/operator/requests/${id}/cancel?running=true`;
  assert.equal((await operator.call('POST', path, {})).status, 409);
});
