/** How long a model's last runs took, as the catalog and the public pages say it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { before, withWebService } from '../../kit/web.ts';

/** Seconds of the runs of the image model, newest last; the median of the newest 21 is 7.5. */
const times = (count: number, seconds: number) => Array<number>(count).fill(seconds);
const took = [...times(9, 900), ...times(10, 2), 7.5, ...times(10, 60)];

const { service } = withWebService();

before(async () => {
  const { key } = await service.account({ usd: 5 });
  const submit = async (path: string, prompt: string) => {
    const reply = await service.call('POST', path, { key, body: { prompt } });
    assert.equal(reply.status, 202, reply.text);
    return reply.body.request_id as string;
  };
  const ids: string[] = [];
  for (const seconds of took) {
    const id = await submit('/v1/queue/fake/image', `took ${seconds}`);
    ids.push(id);
    await service.work();
  }
  const waiting = await submit('/v1/queue/fake/film/text-to-video', 'a cat');
  const cancelled = await service.call('POST', `/v1/requests/${waiting}/cancel`, { key });
  assert.equal(cancelled.status, 200);
  for (const [i, id] of ids.entries()) {
    await service.db.run(
      rawSql(
        `update requests set completed_at = now() - make_interval(mins => $2),
          started_at = now() - make_interval(mins => $2, secs => $3) where id = $1`,
        [id, took.length - i, took[i]!],
      ),
    );
  }
});

test('is the median of the last finished jobs, and of no other', async () => {
  const { data } = (await service.call('GET', '/v1/models')).body;
  const seconds = Object.fromEntries(
    data.map((each: { id: string; median_seconds: number | null }) => [
      each.id,
      each.median_seconds,
    ]),
  );
  assert.deepEqual(seconds, {
    'fake/image': 7.5,
    'fake/film/text-to-video': null,
    'fake/chat': null,
    'fake/drain/chat': null,
  });
  const one = await service.call('GET', '/v1/models/fake/image');
  assert.equal(one.body.median_seconds, 7.5);
});

describe('the public pages', () => {
  for (const path of ['/', '/models', '/models/fake/image']) {
    test(`${path} says it of the model that has run, and of no other`, async () => {
      const page = await (await fetch(`${service.base}${path}`)).text();
      assert.equal(page.match(/about 7\.5 s/g)?.length, 1);
      assert.equal(page.match(/about \d/g)?.length, 1);
    });
  }
});
