/** `farebox chain`: what is printed and logged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/lib/sql/sql.ts';
import { withService } from '../kit/with-service.ts';
import { assertSaid, placeFor } from './cli.ts';

const { service } = withService();

test('a stopped chain is listed with its reason, and read on, once by name', async (t) => {
  const place = placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
  await service.db.run(sql`
    insert into chains (name, chain_id, start_height, scanned_height, scanned_hash,
         rescanned_height, head_height, stopped_why, wake_at, scanned_block_at)
       values ('bsc', 56, 100, 250, '0x' || repeat('7', 64), 99, 260, 'block 250 was replaced',
         now() + interval '1 day', now() - interval '90 seconds')`);
  const listed = await place.run(['chain', 'list']);
  assert.match(listed.stdout, /CHAIN +STATE +FINAL BLOCK +NEWEST BLOCK +LAG +READ AGAIN TO /);
  assert.match(
    listed.stdout,
    /\nbsc +stopped +250 +260 +\d+ (?:s|min) +99 +- +0\nbsc: block 250 was replaced\n$/,
  );
  assertSaid(await place.run(['chain', 'resume', 'tron']), /No chain with the name tron was read/);
  const { json } = await place.run(['chain', 'resume', 'bsc', '--from', '200', '--json']);
  assert.deepEqual(json, { chain: 'bsc', stopped_why: 'block 250 was replaced' });
  const [row] = (await place.run(['chain', 'list', '--json'])).json.data;
  assert.deepEqual(
    [row.start_height, row.scanned_height, row.scanned_hash, row.stopped_why],
    ['100', '199', null, null],
  );
  const logged = await service.db.run(sql`select action, target, by_email, details
    from operator_log`);
  assert.deepEqual(logged, [
    {
      action: 'chain.resume',
      target: 'bsc',
      by_email: 'command line',
      details: { stopped_why: 'block 250 was replaced', from: '200' },
    },
  ]);
});
