import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Command } from 'commander';
import { commandLine } from '../../src/commands/program.ts';
import { isUuid } from '../../src/lib/id.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { inLong, inShort, isLong } from '../kit/long.ts';
import { assertRefused, besideService, cents, type Refusal } from './verbs-kit.ts';
import {
  assertNoPostgres,
  assertSaid,
  call,
  farebox,
  placeFor,
  ranOf,
  reaches,
  submit,
  type Place,
} from './cli.ts';

const { program } = await commandLine({ env: {}, out: () => {}, err: () => {} });

describe('help', () => {
  const verbs = verbsOf(program);
  assert.ok(verbs.length > 40, verbs.join(', '));

  test('is given for every verb, and asking for it does nothing', async (t) => {
    const place = placeFor(t);
    const asked = inShort(3, verbs).map(async (verb) => {
      const ran = await place.run([...verb.split(' '), '--help']);
      assert.match(ran.stdout, new RegExp(`^Usage: farebox ${verb}\\b.*\\n\\n[^\\n]`), verb);
      assert.match(ran.stdout, /--json/, verb);
      assert.equal(ran.code, 0, verb);
      assert.equal(ran.stderr, '', verb);
    });
    await Promise.all(asked);
    assert.equal(fs.existsSync(place.dir), false, 'a data folder was made');
  });

  inLong('of the program lists every verb, in every way to ask for it', async (t) => {
    const place = placeFor(t);
    const names = new Set(verbs.map((verb) => verb.split(' ')[0]!));
    for (const args of [['--help'], ['help']]) {
      const { code, stdout } = await place.run(args);
      assert.equal(code, 0);
      for (const name of names) assert.match(stdout, new RegExp(`^  ${name}\\b`, 'm'), name);
      assert.doesNotMatch(stdout, /generate/, 'a verb for developers is shown');
    }
  });

  inLong('of a group lists its verbs; the version is printed', async (t) => {
    const place = placeFor(t);
    assert.match((await place.run(['help', 'account'])).stdout, /create[^]*suspend[^]*resume/);
    const { stdout, code } = await place.run(['--version']);
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
    assert.equal(code, 0);
  });
});

/** The words of each command with an action, except hidden ones. */
function verbsOf(command: Command): string[] {
  const parts = command
    .createHelp()
    .visibleCommands(command)
    .filter((part) => part.name() !== 'help');
  if (parts.length === 0) return [''];
  return parts.flatMap((part) => verbsOf(part).map((verb) => `${part.name()} ${verb}`.trimEnd()));
}

describe('an invalid call', () => {
  const wrong: [args: string, says: RegExp][] = [
    ['', /^Usage: farebox/],
    ['bogus', /unknown command 'bogus'/],
    ['account', /^Usage: farebox account/],
    ['account crate', /unknown command 'crate'\n\(Did you mean create\?\)/],
    ['account list --bogus', /unknown option '--bogus'/],
    ['account create', /missing required argument 'email'/],
    ['account show a@x.y b@x.y', /too many arguments/],
    ['account list --limit 0', /must be an integer above 0/],
    ['credit a@x.y 5', /required option '--reference <text>'/],
    ['credit a@x.y', /missing required argument 'usd'|required option '--reference/],
    ['key create', /required option '--account <email>'/],
    ['key create --account a@x.y --rpm 0', /'0' is invalid.*integer above 0/],
    ['key create --account a@x.y --open-jobs 1.5', /'1\.5' is invalid.*integer above 0/],
    ['adjust a@x.y -5 --reference r', /required option '--reason <text>'/],
    ['request list --limit 0', /must be an integer above 0/],
    ['key rotate', /missing required argument 'key-id'/],
    ['key revoke', /missing required argument 'key-id'/],
    ['voucher create', /missing required argument 'usd'/],
    ['voucher create 5 --count 0', /must be an integer above 0/],
    ['voucher void', /missing required argument 'voucher-id'/],
    ['upstream test a b', /too many arguments/],
    ['export', /missing required argument 'file'/],
    ['backup check', /missing required argument 'file'/],
  ];

  const wordsOf = (args: string) => args.split(' ').filter((word) => word !== '');

  test('gets a message that says what is wrong, exit 2, and starts nothing', async (t) => {
    const place = placeFor(t);
    const told = inShort(5, wrong).map(async ([args, says]) => {
      const plain = await place.run(wordsOf(args));
      assertSaid(plain, says);
      assert.equal(plain.stdout, '', args);
    });
    // One of each kind.
    const inJson = inShort(1, wrong.slice(0, 10)).map(async ([args, says]) => {
      const json = await place.run([...wordsOf(args), '--json']);
      assertSaid(json, says);
      assert.ok(json.json.error.message.length > 5, args);
    });
    await Promise.all([...told, ...inJson]);
    assert.equal(fs.existsSync(place.dir), false, 'a data folder was made');
  });
});

describe('with no service running', () => {
  test('a verb starts the embedded database for itself and leaves none behind', async (t) => {
    const place = placeFor(t);
    const made = await place.run(['account', 'create', 'ana@example.com', '--json']);
    assert.equal(made.code, 0, made.stderr);
    // In a wrong folder a new database would look as if all accounts were gone.
    const { dir } = place;
    assert.equal(made.stderr, `There was no database in ${dir}; a new one was made.\n`);
    await assertNoPostgres(place);
    const shown = await place.run(['account', 'show', 'ANA@example.com', '--json']);
    assert.deepEqual(shown.json, made.json);
    assert.equal(shown.stderr, '');
    await assertNoPostgres(place);
    // Each command starts PostgreSQL.
    if (!isLong) return;
    const refused = await place.run(['account', 'create', 'ana@example.com']);
    assertSaid(refused, /There is already an account for ana@example\.com/);
    await assertNoPostgres(place);
  });

  inLong('a folder that cannot be used is named', async (t) => {
    const place = placeFor(t);
    const file = path.join(path.dirname(place.dir), 'a-file');
    fs.writeFileSync(file, '');
    const ran = await place.run(['account', 'list'], { FAREBOX_DATA_DIR: file });
    assertSaid(ran, /FAREBOX_DATA_DIR: cannot use .*a-file/);
  });
});

describe('beside a running service', () => {
  const beside = besideService();
  const { service, place, run, said, human, account, newKey, status } = beside;

  test('a production start has no account of its own making', async () => {
    assert.deepEqual(await said('account', 'list'), { data: [], total: 0 });
    assert.deepEqual(await said('key', 'list'), { data: [] });
  });

  test('account create answers with the account, and show and list with the same', async () => {
    const made = await said('account', 'create', ' Ana@Example.com ', '--credit-usd', '25.5');
    const { account_id, created_at, ...rest } = made;
    assert.ok(isUuid(account_id));
    assert.equal(new Date(created_at).toISOString(), created_at);
    assert.deepEqual(rest, {
      email: 'ana@example.com',
      available_usd_micro: '25500000',
      reserved_usd_micro: '0',
      debt_usd_micro: '0',
      status: 'active',
      operator: false,
      price_multiplier: 1,
      keys_by_api: true,
    });
    assert.deepEqual(await said('account', 'show', 'ana@example.com'), made);
    assert.deepEqual(await said('account', 'show', account_id), made);
    const boss = await said('account', 'create', 'boss@example.com', '--operator');
    assert.deepEqual([boss.operator, boss.available_usd_micro], [true, '0']);
    // Newest first.
    assert.deepEqual(await said('account', 'list'), { data: [boss, made], total: 2 });
    assert.deepEqual(await said('account', 'list', '--limit', '1'), { data: [boss], total: 2 });
    assert.match(await human('account', 'list', '--limit', '1'), /\n1 of 2 accounts\. --limit N/);
    assert.doesNotMatch(await human('account', 'list'), / of 2 accounts/);
    assert.match(
      await human('account', 'list'),
      /^EMAIL[^]*\nboss@[^]*\nana@example\.com +active +25\.5 /,
    );
    assert.match(
      await human('account', 'show', 'boss@example.com'),
      /active {2}operator\n[^]*0 USD/,
    );
    const chief = await human('account', 'create', 'chief@example.com', '--operator');
    assert.match(chief, /^Operator account chief@example\.com made\./);
  });

  inLong('account price multiplies what the account pays, from the next call on', async () => {
    const account_id = await account('price@example.com');
    const { key } = await said('key', 'create', '--account', 'price@example.com');
    const told = await said('account', 'price', 'price@example.com', '0.85');
    assert.deepEqual([told.account_id, told.price_multiplier], [account_id, 0.85]);
    assert.match(await human('account', 'show', 'price@example.com'), /prices {5}times 0\.85\n/);
    const wanted = { model_id: 'test/image', input: { prompt: 'a cat' } };
    const estimate = async () =>
      (await call(service.base, 'POST', '/v1/estimate', key, wanted)).body;
    const { price_usd_micro, price_multiplier } = await estimate();
    assert.deepEqual([price_usd_micro, price_multiplier], ['8500', 0.85]);
    assert.match(
      await human('account', 'price', account_id, '1'),
      /pays every list price times 1\./,
    );
    assert.equal((await estimate()).price_usd_micro, '10000');
  });

  test('credit is booked once for each reference', async () => {
    const account_id = await account('credit@example.com');
    const args = ['credit', 'credit@example.com', '2.5', '--reference', 'wire "1"'];
    const booked = await said(...args);
    assert.ok(isUuid(booked.transfer_id));
    assert.deepEqual(
      [booked.account_id, booked.available_usd_micro, booked.replayed],
      [account_id, cents(12.5), false],
    );
    assert.deepEqual(await said(...args), { ...booked, replayed: true });
    assert.match(await human(...args), /2\.5 USD was already booked.*Available: 12\.5 USD/);
    // With spaces, as pasted from a table or an e-mail.
    const pasted = [...args.slice(0, 4), ' wire "1" '];
    assert.deepEqual(await said(...pasted), { ...booked, replayed: true });
    const race = await Promise.all([1, 2, 3].map(() => said(...args.slice(0, 4), 'wire 2')));
    assert.equal(new Set(race.map((each) => each.transfer_id)).size, 1);
    const gift = ['credit', 'credit@example.com', '1', '--reference', 'gift', '--source'];
    assertSaid(
      await run(...gift, 'paid', '--expires', '2099-12-31'),
      /Only a bonus can have an end/,
    );
    assertSaid(await run(...gift, 'bonus', '--expires', 'soon'), /"soon" is not a date/);
    await said(...gift, 'bonus', '--expires', '2099-12-31');
    const again = [...gift, 'bonus', '--expires', '2099-12-31'];
    assert.match(await human(...again), /was already booked/);
    const { data } = await said('account', 'statement', 'credit@example.com');
    assert.equal(data[0].source, 'bonus');
    assert.deepEqual(
      data.map((row: any) => [row.kind, row.amount_usd_micro, row.available_after_usd_micro]),
      [
        ['deposit', cents(1), cents(16)],
        ['deposit', cents(2.5), cents(15)],
        ['deposit', cents(2.5), cents(12.5)],
        ['deposit', cents(10), cents(10)],
      ],
    );
    assert.match(
      await human('account', 'statement', 'credit@example.com'),
      /deposit +paid +2\.5 +15 +wire 2\n/,
    );
  });

  inLong('vouchers are made, shown once, listed without their codes, and taken back', async () => {
    const made = await said(
      'voucher',
      'create',
      '25.5',
      '--count',
      '2',
      '--note',
      'spring',
      '--expires',
      '2199-01-31',
    );
    const [first, second] = made.data;
    for (const each of made.data) {
      assert.match(each.code, /^FB(-[0-9A-Z]{4}){5}$/);
      assert.equal(each.amount_usd_micro, cents(25.5));
      assert.equal(each.expires_at, '2199-01-31T23:59:59.999Z');
    }
    assert.notEqual(first.code, second.code);
    assert.match(await human('voucher', 'create', '1'), /^FB-[^\n]+\n\nThis voucher.*shown once/);
    assert.equal((await said('voucher', 'void', first.voucher_id)).void, true);
    assert.equal((await said('voucher', 'void', first.voucher_id)).void, true);
    const listed = await run('voucher', 'list');
    assert.doesNotMatch(listed.stdout, new RegExp(second.code));
    const rows = listed.json.data.map((row: any) => [row.voucher_id, row.status, row.note]);
    assert.deepEqual(rows.slice(1), [
      [second.voucher_id, 'open', 'spring'],
      [first.voucher_id, 'void', 'spring'],
    ]);
    const table = await human('voucher', 'list');
    assert.match(table, new RegExp(`FB-…-${second.code.slice(-4)} +25.5 +open`));
    assertSaid(await run('voucher', 'void', second.code), /no voucher with the id/);
    for (const [expires, says] of [
      ['tomorrow', /is not a date/],
      ['2199-02-30', /is not a date/],
      ['2020-01-01', /in the future/],
    ] as const)
      assertSaid(await run('voucher', 'create', '1', '--expires', expires), says);
  });

  inLong('adjust corrects once for each reference, downwards never below zero', async () => {
    const account_id = await account('adjust@example.com');
    const args = (usd: string, reference: string, reason = 'a bank error') => [
      'adjust',
      'adjust@example.com',
      usd,
      '--reference',
      reference,
      '--reason',
      reason,
    ];
    const taken = await said(...args('-4.5', 'fix 1'));
    const { transfer_id, ...rest } = taken;
    assert.ok(isUuid(transfer_id));
    const booked = { available_usd_micro: cents(5.5), debt_usd_micro: '0', replayed: false };
    assert.deepEqual(rest, { account_id, ...booked });
    assert.deepEqual(await said(...args('-4.5', ' fix 1 ')), { ...taken, replayed: true });
    assert.match(
      await human(...args('1', 'fix 2')),
      /correction of 1 USD booked\. Available: 6\.5/,
    );
    assertSaid(
      await run(...args('-6.500001', 'fix 3')),
      /would take more than the account has available/,
    );
    assertSaid(await run(...args('4.5', 'fix 1')), /"fix 1" was already used for another booking/);
    assertSaid(
      await run(...args('-4.5', 'fix 1', 'a fee')),
      /"fix 1" was already used for another booking/,
    );
    const credit = ['credit', 'adjust@example.com', '1', '--reference', 'fix 2'];
    assertSaid(await run(...credit), /"fix 2" was already used for another booking/);
    const { data } = await said('account', 'statement', 'adjust@example.com');
    assert.deepEqual(
      data.map((row: any) => [
        row.kind,
        row.direction,
        row.amount_usd_micro,
        row.available_after_usd_micro,
        row.reason,
      ]),
      [
        ['adjustment', 'in', cents(1), cents(6.5), 'a bank error'],
        ['adjustment', 'out', cents(4.5), cents(5.5), 'a bank error'],
        ['deposit', 'in', cents(10), cents(10), null],
      ],
    );
    const shown = await human('account', 'statement', 'adjust@example.com');
    assert.match(shown, /adjustment +\+1 +6\.5 +fix 2 +a bank error\n/);
    assert.match(shown, /adjustment +-4\.5 +5\.5 +fix 1 +a bank error\n/);
    const back = ['adjust', 'adjust@example.com', '-7.5', '--reference', 'cb', '--reason', 'cb'];
    assert.match(await human(...back, '--allow-debt'), /booked\. Available: 0 USD\. Debt: 1 USD\./);
    assert.match(await human('account', 'show', 'adjust@example.com'), /debt +1 USD\n/);
    const paid = await said('credit', 'adjust@example.com', '3', '--reference', 'pays');
    assert.deepEqual([paid.available_usd_micro, paid.debt_usd_micro], [cents(2), '0']);
  });

  inLong(
    'upstream list shows queues and pauses, request list and show the end of each request',
    async () => {
      const account_id = await account('look@example.com');
      const { key, key_id } = await newKey('look@example.com');
      const id = await submit(service.base, key, 'sandbox:fail of my secret plan');
      await reaches(service.base, key, id, 'FAILED');
      const done = await submit(service.base, key, 'fine');
      await reaches(service.base, key, done, 'COMPLETED');
      const { data: upstreams } = await said('upstream', 'list');
      const { last_error: _said, last_error_at: _at, failures: _count, ...sandbox } = upstreams[0];
      assert.deepEqual(sandbox, {
        name: 'sandbox',
        last_why: null,
        set_up: true,
        state: 'on',
        reason: null,
        key_from: null,
        waiting: 0,
        oldest_seconds: null,
        in_use: 0,
        paused_until: null,
        paused_models: [],
        keys: [],
      });
      assert.match(
        await human('upstream', 'list'),
        /^UPSTREAM [^]*\nsandbox +yes +on +- +0 +- +0 +- /,
      );

      const of = ['request', 'list', '--account', 'look@example.com'];
      const ids = async (...more: string[]) =>
        (await said(...of, ...more)).data.map((row: any) => row.request_id);
      assert.deepEqual(await ids(), [done, id]);
      assert.deepEqual(await ids('--limit', '1'), [done]);
      assert.deepEqual(await ids('--status', 'FAILED'), [id]);
      assert.deepEqual(await ids('--model', 'no/such'), []);
      assert.match(await human(...of), new RegExp(`\n${id} .* FAILED upstream_\\w+ +0\\.01 +0\n`));

      const shown = await said('request', 'show', id);
      assert.deepEqual(
        [shown.request_id, shown.account_id, shown.key_id, shown.status, shown.input],
        [id, account_id, key_id, 'FAILED', undefined],
      );
      assert.deepEqual(
        shown.transfers.map((row: any) => [row.kind, row.amount_usd_micro]),
        [
          ['reserve', '10000'],
          ['release', '10000'],
        ],
      );
      assert.deepEqual(
        shown.attempts.map((row: any) => row.upstream),
        ['sandbox'],
      );
      assert.deepEqual([shown.quote.price_usd_micro, shown.charged_usd_micro], ['10000', '0']);
      const told = await human('request', 'show', id);
      assert.match(
        told,
        /FAILED {2}upstream_\w+: .+\n[^]*quoted +0\.01 USD\n[^]*release 0\.01 USD/,
      );
      const { input } = await said('request', 'show', id, '--input');
      assert.deepEqual(input, { prompt: 'sandbox:fail of my secret plan' });
      assert.doesNotMatch(told + JSON.stringify(shown), /my secret plan/);
      const back = [
        'request',
        'refund',
        done,
        '0.004',
        '--reference',
        't 1',
        '--reason',
        'blurred',
      ];
      const refunded = await said(...back);
      assert.deepEqual(
        [refunded.request_id, refunded.refunded_usd_micro, refunded.available_usd_micro],
        [done, '4000', '9994000'],
      );
      assert.deepEqual(await said(...back), { ...refunded, replayed: true });
      const rest = ['request', 'refund', done, '--reference', 't 2', '--reason', 'blurred'];
      assert.match(await human(...rest), /booked\. Refunded in all: 0\.01 USD/);
      assert.match(
        await human('request', 'show', done),
        /deposit 0\.004 USD\n[^]*deposit 0\.006 USD/,
      );
    },
  );

  test('key create prints a key that works, once', async () => {
    const account_id = await account('key@example.com');
    const made = await newKey('key@example.com', '--name', 'web');
    const { key, key_id, ...rest } = made;
    assert.match(key, /^fbx_[0-9A-Za-z]{38}$/);
    assert.ok(isUuid(key_id));
    assert.deepEqual(rest, {
      account_id,
      email: 'key@example.com',
      name: 'web',
      monthly_limit_usd_micro: null,
      rpm: null,
      open_jobs: null,
      expires_at: null,
      models: null,
    });
    assert.equal(await status(key), 200);
    const id = await submit(service.base, key, 'once');
    await reaches(service.base, key, id, 'COMPLETED');
    const { data } = await said('key', 'list', '--account', 'key@example.com');
    const { created_at, last_used_at, month, prefix, last4, ...row } = data[0];
    assert.ok(last_used_at >= created_at);
    assert.deepEqual([prefix, last4], [key.slice(0, prefix.length), key.slice(-4)]);
    assert.ok(created_at.startsWith(month));
    assert.deepEqual(row, {
      key_id,
      account_id,
      name: 'web',
      monthly_limit_usd_micro: null,
      rpm: null,
      open_jobs: null,
      monthly_ceiling_usd_micro: null,
      rpm_ceiling: null,
      open_jobs_ceiling: null,
      is_studio: false,
      scope: 'spend',
      created_by: null,
      created_by_name: null,
      state: 'active',
      models: null,
      expires_at: null,
      revoked_at: null,
      previous_until: null,
      previous_used_at: null,
      spent_usd_micro: cents(0.01),
      reserved_usd_micro: '0',
      open_requests: 0,
    });
    const everything = [
      await human('key', 'list'),
      JSON.stringify(await said('key', 'list')),
      JSON.stringify(await said('account', 'list')),
    ].join('\n');
    assert.ok(everything.includes(key_id));
    assert.equal(everything.includes(key), false, 'the key was told a second time');
    assert.match(await human('key', 'create', '--account', 'key@example.com'), /^fbx_\w{38}\n/);
  });

  test('key change sets what is no limit of a key, and none removes it', async () => {
    await account('change@example.com');
    const { key, key_id } = await newKey('change@example.com', '--rpm', '40');
    const change = (...args: string[]) => said('key', 'change', key_id, ...args);
    const end = '2030-12-31T23:59:59.999Z';
    const given = ['--name', 'shop', '--expires', '2030-12-31', '--model', 'test/image'];
    const wanted = { name: 'shop', expires_at: end, models: ['test/image'] };
    assert.deepEqual(await change(...given), { key_id, ...wanted });
    const now = async () => (await said('key', 'list', '--account', 'change@example.com')).data[0];
    assert.partialDeepStrictEqual(await now(), { ...wanted, rpm: 40 });
    await change('--expires', 'none', '--model', 'none');
    assert.partialDeepStrictEqual(await now(), { name: 'shop', expires_at: null, models: null });
    assert.equal(await status(key), 200);
    assertSaid(await run('key', 'change', key_id), /Say what to change/);
    assertSaid(await run('key', 'change', key_id, '--expires', '2020-01-01'), /in the future/);
  });

  inLong(
    'key rotate prints a secret that works beside the old one during the overlap',
    async () => {
      await account('turn@example.com');
      const { key, key_id } = await newKey('turn@example.com');
      const next = await said('key', 'rotate', key_id, '--overlap', '2');
      const hours = (Date.parse(next.previous_until) - Date.now()) / 3_600_000;
      assert.ok(hours > 1.9 && hours <= 2, String(hours));
      assert.deepEqual([await status(key), await status(next.key)], [200, 200]);
      const last = await said('key', 'rotate', key_id, '--overlap', '0');
      assert.equal(last.previous_until, null);
      assert.deepEqual(
        [await status(key), await status(next.key), await status(last.key)],
        [401, 401, 200],
      );
      const told = await human('key', 'rotate', key_id);
      assert.match(told, /^fbx_\w{38}\n\nThis is the new secret of .+ works until 20/);
      assertSaid(
        await run('key', 'rotate', key_id, '--overlap', '169'),
        /--overlap <hours>.*integer from 0 to 168/,
      );
      assertSaid(await run('key', 'rotate', '0123'), /There is no key with the id 0123/);
      await said('key', 'revoke', key_id);
      assertSaid(await run('key', 'rotate', key_id), /revoked/);
    },
  );

  inLong('the limits of a key apply, and changed ones from the next call on', async () => {
    await account('limit@example.com');
    const limits = ['--limit-usd', '0.015', '--rpm', '40', '--open-jobs', '2'];
    const { key, key_id } = await newKey('limit@example.com', ...limits);
    const limitOf = async () =>
      (await call(service.base, 'GET', '/v1/requests', key)).headers.get('ratelimit-limit');
    assert.equal(await limitOf(), '40');
    await reaches(service.base, key, await submit(service.base, key, 'first'), 'COMPLETED');
    const over = () =>
      call(service.base, 'POST', '/v1/queue/test/image', key, { prompt: 'second' });
    const refused = await over();
    assert.deepEqual([refused.status, refused.body.error.code], [402, 'key_limit_reached']);
    assert.deepEqual(await said('key', 'limit', key_id, '--limit-usd', 'none', '--rpm', '70'), {
      key_id,
      monthly_limit_usd_micro: null,
      rpm: 70,
    });
    assert.equal(await limitOf(), '70');
    const told = await place.run(['key', 'limit', key_id, '--limit-usd', 'none', '--rpm', '70']);
    const bound = 'no limit on USD a month, at most 70 calls a minute';
    assert.equal(
      told.stderr,
      `Keys that the account's people or keys make from now on: ${bound}.\n`,
    );
    await reaches(service.base, key, (await over()).body.request_id, 'COMPLETED');
    await newKey('limit@example.com');
    const newest = await said('key', 'list', '--account', 'limit@example.com', '--limit', '1');
    assert.equal(newest.data.length, 1);
    const data = (await said('key', 'list', '--account', 'limit@example.com')).data.slice(1);
    const { monthly_limit_usd_micro, rpm, open_jobs, spent_usd_micro } = data[0];
    assert.deepEqual(
      [monthly_limit_usd_micro, rpm, open_jobs, spent_usd_micro],
      [null, 70, 2, cents(0.02)],
    );
  });

  test('a revoked key and a suspended account are refused from the next call on', async () => {
    await account('stop@example.com');
    const [one, two] = [await newKey('stop@example.com'), await newKey('stop@example.com')];
    assert.equal(await status(one.key), 200);
    assert.deepEqual(await said('key', 'revoke', one.key_id), {
      key_id: one.key_id,
      revoked: true,
    });
    assert.equal(await status(one.key), 401);
    assert.equal(await status(two.key), 200, 'the other key was revoked too');
    assertSaid(await run('key', 'revoke', one.key_id), /There is no active key with the id/);
    assertSaid(
      await run('key', 'limit', one.key_id, '--rpm', '5'),
      /is revoked and cannot be changed/,
    );
    assert.match(
      await human('key', 'list', '--account', 'stop@example.com'),
      / active[^]* revoked /,
    );
    assert.equal((await said('account', 'suspend', 'stop@example.com')).status, 'suspended');
    assert.equal(await status(two.key), 401);
    assert.equal((await said('account', 'resume', 'stop@example.com')).status, 'active');
    assert.equal(await status(two.key), 200);
    assert.equal(await status(one.key), 401, 'resuming the account revived a revoked key');
  });

  inLong('a webhook secret is printed, and replaced while two secrets sign', async () => {
    const account_id = await account('hook@example.com');
    const secret = (...args: string[]) =>
      said('account', 'webhook-secret', 'hook@example.com', ...args);
    const { webhook_secrets: first, ...whose } = await secret();
    assert.deepEqual(whose, { account_id, email: 'hook@example.com' });
    assert.equal(first.length, 1);
    assert.match(first[0], /^whsec_[0-9A-Za-z+/]{43}=$/);
    assert.deepEqual((await secret()).webhook_secrets, first, 'looking changed it');
    const { webhook_secrets: both } = await secret('--rotate');
    assert.deepEqual(both.slice(1), first);
    assert.notEqual(both[0], first[0]);
    const verb = ['account', 'webhook-secret', 'hook@example.com'];
    const { stdout, stderr } = await place.run(verb);
    assert.equal(stdout, `${both[0]}\n`, 'not fit for $(…)');
    assert.equal(
      stderr,
      `The older secret also signs until you drop it with --retire: ${both[1]}\n`,
    );
    assertSaid(await run(...verb, '--rotate'), /Two secrets are already active.*--retire/);
    assertSaid(await run(...verb, '--rotate', '--retire'), /either --rotate or --retire, not both/);
    assert.deepEqual((await secret()).webhook_secrets, both, 'a refusal changed it');
    assert.deepEqual((await secret('--retire')).webhook_secrets, [both[0]]);
    assertSaid(await run(...verb, '--retire'), /The only active secret cannot be retired/);
    assert.deepEqual((await secret()).webhook_secrets, [both[0]]);
    const alone = await place.run(verb);
    assert.deepEqual([alone.stdout, alone.stderr], [`${both[0]}\n`, '']);
    const others = JSON.stringify([await said('account', 'list'), service.stderr()]);
    assert.equal(others.includes('whsec_'), false, 'a secret was told elsewhere');
  });

  const refusals: Refusal[] = [
    [['account', 'create', 'nobody'], /not a usable e-mail address/],
    [['account', 'create', 'TAKEN@example.com'], /already an account for taken@example\.com/],
    [['account', 'create', 'new@x.y', '--credit-usd', '1,5'], /"1,5" is not an amount in USD/],
    [['account', 'show', 'none@x.y'], /There is no account none@x\.y\. "farebox account list"/],
    [['account', 'price', 'taken@example.com', '100.1'], /"100\.1" is not a price multiplier/],
    [['credit', 'none@x.y', '5', '--reference', 'r'], /There is no account none@x\.y/],
    [['credit', 'taken@example.com', 'five', '--reference', 'r'], /"five" is not an amount in USD/],
    [['credit', 'taken@example.com', '0', '--reference', 'r'], /must be more than 0/],
    [['credit', 'taken@example.com', '6', '--reference', 'used'], /"used" was already used/],
    [
      ['credit', 'taken@example.com', '6', '--reference', 'r', '--source', 'voucher'],
      /--source <source>.*choices are paid, bonus, refund/,
    ],
    [['credit', 'other@example.com', '5', '--reference', 'used'], /"used" was already used/],
    [
      ['key', 'create', '--account', 'taken@example.com', '--limit-usd', 'x'],
      /"x" is not an amount/,
    ],
    [
      ['adjust', 'taken@example.com', '0', '--reference', 'a', '--reason', 'b'],
      /correction must not be 0/,
    ],
    [['adjust', 'none@x.y', '1', '--reference', 'a', '--reason', 'b'], /There is no account none/],
    [
      ['request', 'refund', '0123', '1', '--reference', 'r', '--reason', 'r'],
      /There is no request with the id 0123/,
    ],
    [['request', 'show', '0123'], /There is no request with the id 0123\. "farebox request list"/],
    [['request', 'list', '--status', 'LOST'], /--status <status>.*choices are IN_QUEUE/],
    [['key', 'limit', '0123', '--rpm', '5'], /There is no key with the id 0123/],
    [['key', 'revoke', '0123'], /There is no active key with the id 0123/],
  ];
  test('invalid commands are refused in words, exit 2, and change nothing', () =>
    assertRefused(beside, refusals));
});

describe('audit', () => {
  let database: TestDatabase;
  before(async () => void (database = await testDatabase()));
  after(() => database.close());

  test('proves the books with exit 0, and names the broken law with exit 1', async (t) => {
    const place = placeFor(t, { DATABASE_URL: database.url, FAREBOX_UNSAFE_DATABASE: 'on' });
    await place.run(['account', 'create', 'ana@example.com', '--credit-usd', '7']);
    const good = await place.run(['audit', '--json']);
    assert.equal(good.code, 0, good.stderr);
    assert.deepEqual(good.json.violations, []);
    const { laws, ...checked } = good.json.checked;
    assert.ok(laws > 10);
    assert.deepEqual(checked, { accounts: 1, transfers: 1, requests: 0, keys: 0 });
    assert.match((await place.run(['audit'])).stdout, /^The books balance: .* 1 transfer and/);

    await database.db.run(rawSql('update balances set credits_posted = credits_posted + 1'));
    const bad = await place.run(['audit', '--json']);
    assert.equal(bad.code, 1);
    assert.equal(bad.json.ok, false);
    const broken = bad.json.violations.map(({ law }: { law: string }) => law);
    assert.ok(broken.includes('balances_recompute'), broken.join());
    assert.equal(bad.json.violations[0].found.length, 1);
    const told = await place.run(['audit']);
    assert.equal(told.code, 1);
    assert.match(
      told.stdout,
      /^The books do NOT balance[^]*broken: balances_recompute: each stored/,
    );
    await database.db.run(rawSql('update balances set credits_posted = credits_posted - 1'));
    assert.equal((await place.run(['audit'])).code, 0);
    assert.equal(
      place.postgresPid(),
      null,
      'an embedded database was started beside the given one',
    );
  });

  inLong('a database of another version is changed only by migrate', async (t) => {
    const { url, db, close } = await testDatabase();
    const place = placeFor(t, { DATABASE_URL: url, FAREBOX_UNSAFE_DATABASE: 'on' });
    const tables = async () => {
      const [row] = await db.run<{ names: string }>(sql`
        select coalesce(string_agg(relname, ',' order by relname), '') as names from pg_class
          where relkind = 'r' and relnamespace = 'public'::regnamespace`);
      return row!.names;
    };
    try {
      await db.run(rawSql('drop schema public cascade; create schema public'));
      for (const verb of [['account', 'list'], ['audit']]) {
        assertSaid(await place.run(verb), /at migration 0, .*Run "farebox migrate"/);
      }
      assert.equal(await tables(), '');
      await db.run(rawSql('create table invoices (id int)'));
      for (const verb of [['migrate'], ['account', 'list']]) {
        assertSaid(await place.run(verb), /tables of another program \(invoices\)/);
      }
      assert.equal(await tables(), 'invoices');
      await db.run(rawSql('drop table invoices'));
      assert.equal((await place.run(['migrate'])).code, 0);
      assert.equal((await place.run(['audit'])).code, 0);
    } finally {
      await close();
    }
  });

  inLong('a database that a newer version has migrated is refused by every verb', async (t) => {
    const place = placeFor(t, { DATABASE_URL: database.url, FAREBOX_UNSAFE_DATABASE: 'on' });
    await database.db.run(sql`insert into migrations (number, name, sha256)
      values (9999, 'later.sql', 'x')`);
    try {
      const verbs = [['audit'], ['migrate'], ['account', 'create', 'late@example.com']];
      const ran = await Promise.all(verbs.map((verb) => place.run([...verb, '--json'])));
      for (const each of ran)
        assertSaid(each, /The database is at migration \d+ and works only with versions/);
    } finally {
      await database.db.run(rawSql('delete from migrations where number = 9999'));
    }
    const { data } = (await place.run(['account', 'list', '--json'])).json;
    assert.equal(data.length, 1);
  });
});

describe('catalog list', () => {
  inLong(
    'shows for each row whether it is live, hidden or stopped, since when and by whom',
    async (t) => {
      const database = await testDatabase();
      t.after(() => database.close());
      const place = placeFor(t, { DATABASE_URL: database.url });
      const list = async (env?: Record<string, string>) =>
        (await place.run(['catalog', 'list', '--json'], env)).json.data;
      const row = { id: 'test/image', kind: 'image', upstreams: ['sandbox'] };
      const live = { ...row, state: 'live', reason: null, stopped: null };
      assert.deepEqual(await list(), [live]);
      const misspelt = await place.run(['catalog', 'stop', 'test/imag']);
      assert.equal(misspelt.code, 2);
      assert.match(misspelt.stderr, /No catalog file has a row "test\/imag"/);
      await place.run(['catalog', 'stop', 'test/image', '--reason', 'too dear']);
      const [{ stopped, ...rest }] = await list();
      assert.deepEqual({ ...rest, stopped: null }, { ...live, state: 'stopped' });
      assert.equal(stopped.by, 'command line');
      assert.ok(Math.abs(Date.now() - Date.parse(stopped.since)) < 60_000, stopped.since);
      const { stdout } = await place.run(['catalog', 'list']);
      assert.match(
        stdout,
        /^MODEL .*\ntest\/image +image +sandbox +stopped +20\S+Z +command line\n$/,
      );
      await place.run(['catalog', 'resume', 'test/image']);
      assert.deepEqual(await list(), [live]);
      const [hidden] = await list({ FAREBOX_SANDBOX: 'off' });
      assert.deepEqual([hidden.state, hidden.stopped], ['hidden', null]);
      assert.match(hidden.reason, /it needs FAREBOX_SANDBOX=on$/);
    },
  );
});

describe('catalog check', () => {
  const folder = (place: Place, name: string, text: string) => {
    const dir = path.join(path.dirname(place.dir), name);
    fs.mkdirSync(dir);
    fs.writeFileSync(path.join(dir, 'models.yaml'), text);
    return dir;
  };

  test('accepts a good folder, and reports faults with file, line and words', async (t) => {
    const place = placeFor(t);
    const good = await place.run(['catalog', 'check', '--json']);
    assert.equal(good.code, 0, good.stderr);
    const { ok, models, problems } = good.json;
    assert.deepEqual([ok, models, problems], [true, 1, []]);
    assert.deepEqual(good.json.hidden, []);
    const off = await place.run(['catalog', 'check', '--json'], { FAREBOX_SANDBOX: 'off' });
    assert.equal(off.code, 0);
    const reason = 'the upstream "sandbox" is not set up: it needs FAREBOX_SANDBOX=on';
    assert.deepEqual(off.json.hidden, [{ id: 'test/image', reason }]);
    const said = await place.run(['catalog', 'check'], { FAREBOX_SANDBOX: 'off' });
    assert.match(
      said.stdout,
      /^hidden: 1 row \(test\/image\): the upstream .*\n1 file, 1 model, 1 of them hidden, 0 problems/,
    );
    const text = fs.readFileSync(path.join(place.env.FAREBOX_CATALOG!, 'test.yaml'), 'utf8');
    const misspelt = folder(place, 'misspelt', text.replace('sandbox', 'sanbox'));
    const wrong = await place.run(['catalog', 'check', misspelt]);
    assert.equal(wrong.code, 1);
    assert.match(
      wrong.stdout,
      /test\/image: there is no upstream sanbox; the known ones are sandbox\./,
    );
    const bad = folder(place, 'bad', text.replace('usd: "0.01"', 'usd: "a cent"'));
    const ran = await place.run(['catalog', 'check', bad, '--json']);
    assert.equal(ran.code, 1);
    assert.equal(ran.json.ok, false);
    const [problem] = ran.json.problems;
    assert.equal(problem.file, 'models.yaml');
    assert.ok(problem.message.length > 10);
    const told = await place.run(['catalog', 'check', bad]);
    assert.equal(told.code, 1);
    assert.match(told.stdout, /^models\.yaml:\d+ .*price.*: .+\n/);
    assert.doesNotMatch(told.stdout, /undefined|\[object/);
    assert.equal(fs.existsSync(place.dir), false, 'a data folder was made');
  });

  inLong('reports invalid YAML, and a missing folder', async (t) => {
    const place = placeFor(t);
    const broken = folder(place, 'broken', 'models: [}');
    const ran = await place.run(['catalog', 'check', broken]);
    assert.equal(ran.code, 1);
    assert.match(ran.stdout, /^models\.yaml:1 /);
    assertSaid(await place.run(['catalog', 'check', '/no/such']), /folder \/no\/such/);
  });
});

inLong('an older Node hands over to the packaged one', async (t) => {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const older = folders
    .map((dir) => path.join(dir, 'node'))
    .find((node) => {
      if (!fs.existsSync(node)) return false;
      const major = Number(
        /^v(\d+)/.exec(execFileSync(node, ['--version'], { encoding: 'utf8' }))?.[1],
      );
      return major >= 18 && major < 24;
    });
  if (!older) return t.skip('there is no older Node on this machine');
  const place = placeFor(t);
  const child = spawn(older, [farebox, 'account', 'bogus', '--json'], { env: place.env });
  const ran = await ranOf(child);
  assertSaid(ran, /unknown command 'bogus'/);
});
