import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFake } from '../kit/fake.ts';
import { fakeCatalog } from '../kit/service.ts';
import { further, imageRow } from '../kit/rows.ts';
import { withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { gate, rowOf, submitted } from './floor.ts';

/** A hanging upstream gets only a part of a worker, and other work goes on. */

const row = imageRow('other/image', { upstream: 'other', upstream_model: 'image' });
const other = createFake({ name: 'other' });
const { service, account } = withService({
  catalog: fakeCatalog + further(row),
  upstreams: [other],
  env: { FAREBOX_WORKER_CONCURRENCY: '16', FAREBOX_OPEN_JOBS: '1000' },
});

test('hanging starts leave places free; jobs of other upstreams run to their end', async () => {
  const worker = service.app.worker!;
  const hung = gate();
  service.fake.start_seconds = 60;
  service.fake.behave.start = async () => {
    await hung.pass();
    return { outcome: 'rejected', message: 'at last' };
  };
  const stuck: string[] = [];
  for (let i = 0; i < 30; i++) stuck.push(await submitted(account));
  const rounds: Promise<number>[] = [];
  const round = () => rounds.push(worker.runOnce());
  round();
  await until('they hang', async () => service.fake.starts.length >= 8);
  const id = await submitted(account, { prompt: 'x' }, 'other/image');
  await until('the other one is done', async () => {
    round();
    return (await rowOf(service, id)).status === 'COMPLETED';
  });
  assert.equal(service.fake.starts.length, 8, 'half of the slots');
  hung.open();
  await Promise.all(rounds);
  await until('all had their turn', async () => {
    await service.wakeAll();
    await service.work();
    const rows = await Promise.all(stuck.map((each) => rowOf(service, each)));
    return rows.every(({ status }) => status === 'FAILED');
  });
  assert.equal(service.fake.starts.length, 30, 'each once');
});
