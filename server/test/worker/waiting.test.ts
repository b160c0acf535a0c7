import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { accept, createFake, images, type Fake } from '../kit/fake.ts';
import type { TestAccount } from '../kit/service.ts';
import { catalogOf, imageRow } from '../kit/rows.ts';
import { withService } from '../kit/with-service.ts';
import { rounds, rowOf, submitted, wake } from './floor.ts';

/** A refused start frees its slot and keeps its turn. */

const own = { upstream: 'fake', model: 'm' };
const others = { upstream: 'other', model: 'n' };
const catalog = catalogOf(
  imageRow('one/image', { upstreams: [own] }),
  imageRow('two/image', { upstreams: [own, others] }),
  imageRow('other/image', { upstreams: [others] }),
);

let account: TestAccount;
const other = createFake({ name: 'other' });
const { service, fake } = withService({ catalog, upstreams: [other] });
beforeEach(async () => {
  for (const each of [fake, other]) Object.assign(each, { behave: {}, concurrency: 1_000 });
  await rounds(service, 4);
  await well();
  account = await service.account({ open_jobs: 1_000 });
});

const well = () => service.db.run(rawSql('delete from upstreams'));
const submit = (model: string, prompt = 'new', who = account) => submitted(who, { prompt }, model);
const startsOf = ({ starts }: Fake, id: string) =>
  starts.filter(({ request_id }) => request_id === id).length;
const runOnce = () => service.app.worker!.runOnce();

/** Refuses the first start for `old` with `retry_after_ms`. Jobs run until `done` has them. */
function refuseOnce(upstream: Fake, retry_after_ms: number): Set<string> {
  const done = new Set<string>();
  let refused = false;
  upstream.behave.start = (job) => {
    if (job.input.prompt !== 'old' || refused) return accept(upstream, job);
    refused = true;
    return { outcome: 'not_accepted', why: 'busy', message: '429', retry_after_ms };
  };
  upstream.behave.poll = ({ key }) =>
    done.has(String(key)) ? { state: 'done', result: images(1) } : { state: 'running' };
  return done;
}

describe('a request that was refused with a pause', () => {
  test('gets the next slot before all requests that were submitted after it', async () => {
    fake.concurrency = 1;
    const done = refuseOnce(fake, 6_000);
    const old = await submit('one/image', 'old');
    await runOnce();
    assert.deepEqual([startsOf(fake, old), (await rowOf(service, old)).slot], [1, false]);
    await well();
    const newer: string[] = [];
    for (let i = 0; i < 4; i++) newer.push(await submit('one/image'));
    await runOnce();
    assert.equal(startsOf(fake, newer[0]!), 1, 'during its pause others have the place');
    await wake(service, old);
    await runOnce();
    assert.equal(startsOf(fake, old), 1, 'and keep it until they are done');
    done.add(newer[0]!);
    await wake(service, newer[0]!);
    await runOnce();
    await runOnce();
    assert.equal((await rowOf(service, newer[0]!)).status, 'COMPLETED');
    assert.deepEqual(
      [old, ...newer.slice(1)].map((id) => startsOf(fake, id)),
      [2, 0, 0, 0],
    );
    assert.equal((await rowOf(service, old)).slot, true);
    for (const id of [old, ...newer]) done.add(id);
    await rounds(service, 8);
    for (const id of newer) assert.equal(startsOf(fake, id), 1);
  });

  test('does not wait longer after its next refusal because it often asked for a slot', async () => {
    fake.concurrency = 1;
    const done = refuseOnce(fake, 6_000);
    const old = await submit('one/image', 'old');
    await runOnce();
    await well();
    const newer = await submit('one/image');
    await runOnce();
    for (let i = 0; i < 6; i++) {
      await wake(service, old);
      await runOnce();
    }
    assert.equal(startsOf(fake, old), 1);
    done.add(newer);
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'busy' });
    await wake(service, newer);
    await runOnce();
    await runOnce();
    const { wakes_in } = await rowOf(service, old);
    assert.equal(startsOf(fake, old), 2);
    assert.ok(wakes_in! > 1 && wakes_in! <= 6, `as after two starts: ${wakes_in}`);
    fake.behave = {};
    await rounds(service, 2);
  });

  test('goes back to the upstream that refused it, after a pause, if the next one is full', async () => {
    other.concurrency = 1;
    other.behave.poll = () => ({ state: 'running' });
    const long = await submit('other/image');
    await runOnce();
    assert.equal(startsOf(other, long), 1);
    const done = refuseOnce(fake, 0);
    const old = await submit('two/image', 'old');
    await runOnce();
    await runOnce();
    assert.deepEqual([startsOf(fake, old), startsOf(other, old)], [1, 0]);
    await wake(service, old);
    await runOnce();
    assert.equal(startsOf(fake, old), 1, 'not before the pause that it would have had');
    const sql = `update attempts set created_at = now() - interval '10 s' where request_id = $1`;
    await service.db.run(rawSql(sql, [old]));
    await wake(service, old);
    await runOnce();
    assert.deepEqual([startsOf(fake, old), startsOf(other, old)], [2, 0]);
    done.add(old);
    other.behave = {};
    await rounds(service, 2);
    assert.equal((await rowOf(service, old)).status, 'COMPLETED');
  });
});
