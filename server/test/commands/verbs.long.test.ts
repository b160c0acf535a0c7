import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertNoPostgres, assertSaid, placeFor, reaches, submit } from './cli.ts';
import { assertRefused, besideService, type Refusal } from './verbs-kit.ts';

describe('with no service running', () => {
  test('verbs at the same time share one database, and the last one stops it', async (t) => {
    const place = placeFor(t);
    const emails = ['b@example.com', 'c@example.com', 'd@example.com'];
    const made = await Promise.all(
      emails.map((email) => place.command(['account', 'create', email, '--json'])),
    );
    for (const ran of made) assert.equal(ran.code, 0, ran.stderr);
    await assertNoPostgres(place);
    const { data } = (await place.run(['account', 'list', '--json'])).json;
    assert.deepEqual(data.map((row: { email: string }) => row.email).sort(), emails);
  });

  test('migrate names the migrations that it applies, and applies none twice', async (t) => {
    const place = placeFor(t);
    const plan = await place.run(['migrate', '--plan', '--json']);
    assert.deepEqual([plan.code, plan.json.pending[0].name], [0, '0001_init.sql']);
    const first = await place.run(['migrate', '--json']);
    assert.deepEqual([first.json.ok, first.json.applied[0]], [true, '0001_init.sql']);
    assert.deepEqual((await place.run(['migrate', '--json'])).json, { ok: true, applied: [] });
    for (const options of [[], ['--plan']])
      assert.match(
        (await place.run(['migrate', ...options])).stdout,
        /The schema is up to date\.\n$/,
      );
    await assertNoPostgres(place);
  });
});

describe('beside a running service', () => {
  const beside = besideService();
  const { service, place, run, said, human, account, newKey } = beside;

  test('request show shows the refused start that ended a request, its cost and reason', async () => {
    await account('refused@example.com');
    const { key } = await newKey('refused@example.com');
    const id = await submit(service.base, key, 'sandbox:reject');
    await reaches(service.base, key, id, 'FAILED');
    const { error_code, attempts, ...shown } = await said('request', 'show', id);
    assert.equal(error_code, 'upstream_rejected');
    assert.deepEqual([attempts.length, attempts[0].outcome], [1, null]);
    assert.deepEqual([shown.cost_usd_micro, shown.error_cause], [null, null]);
    const told = await human('request', 'show', id);
    assert.match(told, /1 at sandbox: its answer ended the request$/m);
    assert.match(told, /^cost {7}not known$/m);
    assert.doesNotMatch(told, /no answer yet|^cause /m);

    const done = await submit(service.base, key, 'fine');
    await reaches(service.base, key, done, 'COMPLETED');
    assert.match((await said('request', 'show', done)).cost_usd_micro, /^\d+$/);
    assert.match(await human('request', 'show', done), /^cost {7}[\d.]+ USD at the upstream$/m);
  });

  test('key create with an expiry and models makes a key with these limits', async () => {
    await account('narrow@example.com');
    const given = ['--expires', '2199-12-31', '--model', 'test/image'];
    const { key, key_id, ...made } = await newKey('narrow@example.com', ...given);
    assert.deepEqual([made.expires_at, made.models], ['2199-12-31T23:59:59.999Z', ['test/image']]);
    await submit(service.base, key, 'allowed');
    const list = await human('key', 'list', '--account', 'narrow@example.com');
    assert.match(list, /active +spend +- +2199-12-31T23:59:59\.999Z +- +test\/image /);
    for (const [option, value, says] of [
      ['--expires', '2020-01-01', /must expire in the future/],
      ['--expires', '2199-13-01', /is not a date, such as/],
      ['--expires', '2199-02-31', /is not a date, such as/],
      ['--expires', '2199-02-31T12:00:00+02:00', /is not a date, such as/],
      ['--expires', 'soon', /is not a date, such as/],
      ['--model', 'test/imag', /The catalog has no model "test\/imag"/],
    ] as const)
      assertSaid(
        await run('key', 'create', '--account', 'narrow@example.com', option, value),
        says,
      );
    const { data } = await said('key', 'list', '--account', 'narrow@example.com');
    assert.deepEqual(
      data.map((row: any) => row.key_id),
      [key_id],
      'what was refused made none',
    );
  });

  test('a snapshot is taken while it serves, and read elsewhere with none running', async (t) => {
    await account('moves@example.com', '3');
    const file = path.join(path.dirname(place.dir), 'snapshot');
    const taken = await said('export', file);
    assert.deepEqual([taken.ok, taken.file], [true, file]);
    const other = placeFor(t);
    const read = await other.run(['import', file, '--json']);
    assert.equal(read.code, 0, read.stderr);
    assert.equal(read.json.accounts, taken.accounts);
    const shown = await other.run(['account', 'show', 'moves@example.com', '--json']);
    assert.deepEqual(shown.json, await said('account', 'show', 'moves@example.com'));
    const again = await other.run(['import', file, '--release-open', '--json']);
    assertSaid(again, /empty/);
    assertSaid(await other.run(['import', path.join(other.dir, 'nothing')]), /nothing/);
    await assertNoPostgres(other);
  });

  const refusals: Refusal[] = [
    [['account', 'create', 'new@x.y', '--credit-usd', '-1'], /"-1" is not an amount in USD/],
    [['account', 'suspend', 'none@x.y'], /There is no account none@x\.y/],
    [['account', 'resume', 'none@x.y'], /There is no account none@x\.y/],
    [['account', 'price', 'none@x.y', '1'], /There is no account none@x\.y/],
    [['account', 'price', 'taken@example.com', '0,8'], /"0,8" is not a price multiplier/],
    [['account', 'statement', 'none@x.y'], /There is no account none@x\.y/],
    [['account', 'webhook-secret', 'none@x.y', '--rotate'], /There is no account none@x\.y/],
    [
      ['credit', 'taken@example.com', '1000000000.000001', '--reference', 'big'],
      /is more than 1000000000 USD/,
    ],
    [
      ['credit', 'taken@example.com', '99999999999999', '--reference', 'big'],
      /is not an amount in USD.* and 1000000000\)/,
    ],
    [['credit', 'taken@example.com', '0.0000001', '--reference', 'r'], /is not an amount in USD/],
    [['credit', 'taken@example.com', '5', '--reference', ''], /1 to 255 characters/],
    [['key', 'create', '--account', 'none@x.y'], /There is no account none@x\.y/],
    [['key', 'create', '--account', 'taken@example.com', '--name', ''], /1 to 100 characters/],
    [['key', 'list', '--account', 'none@x.y'], /There is no account none@x\.y/],
    [
      ['credit', 'taken@example.com', '5', '--reference', 'a\u0007b'],
      /without invisible characters/,
    ],
    [
      ['credit', 'taken@example.com', '5', '--reference', 'a\u200bb'],
      /without invisible characters/,
    ],
    [['credit', 'taken@example.com', '5', '--reference', ' '], /1 to 255 characters/],
    [
      ['adjust', 'taken@example.com', '--5', '--reference', 'a', '--reason', 'b'],
      /unknown option|not an amount in USD/,
    ],
    [
      ['adjust', 'taken@example.com', '-5', '--reference', 'a', '--reason', ' '],
      /reason must be 1 to 1000 characters/,
    ],
    [['request', 'show', '0190a0a0-0000-7000-8000-000000000000'], /There is no request with/],
    [['request', 'list', '--account', 'none@x.y'], /There is no account none@x\.y/],
    [['key', 'limit', '0190a0a0-0000-7000-8000-000000000000'], /Say what to change: --limit-usd/],
    [['key', 'limit', '0190a0a0-0000-7000-8000-000000000000', '--rpm', '5'], /There is no key/],
    [
      ['key', 'limit', '0123', '--rpm', 'many'],
      /'many' is invalid.*integer above 0, at most 1000000/,
    ],
  ];
  test('further invalid commands are refused in words, exit 2, and change nothing', () =>
    assertRefused(beside, refusals));
});
