import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql, type Database } from '../../src/lib/sql/sql.ts';
import { inLong } from '../kit/long.ts';
import { assertSaid, databaseFor, placeFor, ranOf, type CommandResult, type Place } from './cli.ts';

const cleanings: (() => unknown)[] = [];
const t = { after: (clean: () => unknown) => void cleanings.push(clean) };
let place: Place;
let db: Database;
before(async () => {
  const { env, database } = await databaseFor(t);
  db = database.db;
  place = placeFor(t, env);
});
after(async () => {
  for (const clean of cleanings) await clean();
});

/** Runs a command with a file of this text. */
function from(command: string, text: string | Buffer): Promise<CommandResult> {
  // Told apart by its name, or by its first character.
  const name = text.includes('{"email') ? 'rows.ndjson' : 'rows';
  const file = path.join(path.dirname(place.dir), name);
  fs.writeFileSync(file, text);
  return place.run([...command.split(' '), '--from', file, '--json']);
}

async function said(command: string, text: string): Promise<any[]> {
  const ran = await from(command, text);
  assert.equal(ran.code, 0, ran.stderr);
  return ran.json.data;
}

/** How many rows there are of all that these commands write. */
async function written(): Promise<object> {
  const [counts] = await db.run(sql`
    select
      (select count(*) from accounts) as accounts,
      (select count(*) from keys) as keys,
      (select count(*) from transfers) as transfers,
      (select count(*) from operator_log) as log
  `);
  return counts!;
}

const show = async (email: string) => (await place.run(['account', 'show', email, '--json'])).json;

describe('the rows of a file', () => {
  test('make accounts, with a first deposit if one is given, each with its row of the log', async () => {
    const before = (await written()) as { log: bigint };
    const data = await said(
      'account create',
      '\ufeffemail;credit_usd;operator\r\nana@example.com;12.50;\r\n\r\n"Bo@example.com";;true\r\n;;\r\n',
    );
    assert.deepEqual(
      data.map((row) => [row.line, row.email, row.available_usd_micro, row.operator]),
      [
        [2, 'ana@example.com', '12500000', false],
        [4, 'bo@example.com', '0', true],
      ],
    );
    const shown = await show('ana@example.com');
    assert.deepEqual([shown.account_id, shown.operator], [data[0].account_id, false]);
    assert.equal(((await written()) as { log: bigint }).log, before.log + 3n);
  });

  test('make keys with their limits, and print each secret once', async () => {
    await said('account create', '{"email":"keys@example.com"}\n');
    const rows = [
      '{"account":"keys@example.com","name":"web","limit_usd":0.5,"rpm":60,"model":["test/image"]}',
      '',
      '{"account":"keys@example.com","expires":"2099-12-31","rpm":null}',
    ];
    const data = await said('key create', rows.join('\n'));
    assert.deepEqual(
      data.map((row) => [row.line, row.name, row.monthly_limit_usd_micro, row.rpm, row.models]),
      [
        [1, 'web', '500000', 60, ['test/image']],
        [3, 'default', null, null, null],
      ],
    );
    assert.equal(new Set(data.map(({ key }) => key)).size, 2);
    const list = await place.run(['key', 'list', '--account', 'keys@example.com', '--json']);
    assert.deepEqual(
      list.json.data.map((row: any) => row.key_id).sort(),
      data.map(({ key_id }) => key_id).sort(),
    );
    for (const { key } of data) assert.doesNotMatch(list.stdout, new RegExp(key));
  });

  test('credit accounts once by their references, however often the file is read', async () => {
    await said('account create', 'email\nc1@example.com\nc2@example.com\n');
    const file =
      'email,usd,reference,source,note\n' +
      'c2@example.com,5,bulk 1,,"spring, fair"\nc1@example.com,0.50,bulk 2,bonus,\n';
    const first = await said('credit', file);
    assert.deepEqual(
      first.map((row) => [row.line, row.email, row.amount_usd_micro, row.replayed]),
      [
        [2, 'c2@example.com', '5000000', false],
        [3, 'c1@example.com', '500000', false],
      ],
    );
    const after = await written();
    const again = await said('credit', file);
    assert.deepEqual(
      again.map((row) => [row.transfer_id, row.replayed]),
      first.map((row) => [row.transfer_id, true]),
    );
    assert.deepEqual(await written(), after);
    const longer = await said('credit', `${file}c1@example.com,2,bulk 3,,\n`);
    assert.deepEqual(
      longer.map((row) => row.replayed),
      [true, true, false],
    );
    assert.equal((await show('c1@example.com')).available_usd_micro, '2500000');
    assert.equal((await show('c2@example.com')).available_usd_micro, '5000000');
    const told = await place.run(['credit', '--from', path.join(path.dirname(place.dir), 'rows')]);
    assert.match(told.stdout, /0 deposits booked, 0 USD in all\. 3 .*nothing was changed for them/);
  });

  inLong('come from stdin, too', async () => {
    const text = 'email\nstdin@example.com\n';
    const ran = await ranOf(place.spawn(['account', 'create', '--from', '-', '--json'], {}, text));
    assert.deepEqual([ran.code, ran.json.data[0].email], [0, 'stdin@example.com'], ran.stderr);
  });

  inLong('may be many, of accounts in any order, and the books hold', async () => {
    const rows = Array.from({ length: 100 }, (_, n) => `many${n}@example.com\n`);
    const made = await said('account create', `email\n${rows.join('')}`);
    assert.equal(made.length, 100);
    const credits = made.map(({ email }, n) => `${email},1,many ${n}\n`).toReversed();
    const booked = await said('credit', `email,usd,reference\n${credits.join('')}`);
    assert.equal(booked.filter(({ replayed }) => !replayed).length, 100);
    const { json } = await place.run(['audit', '--json']);
    assert.deepEqual([json.ok, json.violations], [true, []]);
  });
});

describe('a file that cannot be taken whole changes nothing, and says so:', () => {
  before(() => said('account create', 'email\ntaken@example.com\n'));
  const header = 'email,usd,reference\n';
  const good = 'taken@example.com,5,good\n';
  const refused: [what: string, command: string, text: string | Buffer, says: RegExp][] = [
    [
      'accounts that exist or are there twice, and addresses that are none',
      'account create',
      'email\nnew@example.com\ntaken@example.com\nno address\nnew@example.com\n',
      /^Nothing was changed\.\nline 3: There is already an account for taken@.*\nline 4: This is not a usable.*\nline 5: There is already an account for new@/,
    ],
    [
      'cells that are no amounts, too long, or empty',
      'credit',
      `${header}${good}taken@example.com,five,r\n,1,\n`,
      /^Nothing was changed\.\nline 3: usd: "five" is not an amount.*\nline 4: email is empty\.\nline 4: reference is empty\./,
    ],
    [
      'unknown accounts, amounts of 0, and reserved references',
      'credit',
      `${header}${good}nobody@example.com,1,r1\ntaken@example.com,0,r2\ntaken@example.com,1,voucher:1\n`,
      /^Nothing was changed\.\nline 3: There is no account nobody.*\nline 4: .*\nline 5: References that begin/,
    ],
    [
      'a reference of two lines',
      'credit',
      `${header}${good}${good}`,
      /line 3: The reference "good" is that of line 2, too\./,
    ],
    [
      'a source that does not exist',
      'credit',
      `email,usd,reference,source\ntaken@example.com,1,r,gift\n`,
      /line 2: source: must be one of: paid, bonus, refund\./,
    ],
    [
      'keys with a past end, an unknown model or no whole number',
      'key create',
      'account,expires,model\ntaken@example.com,2020-01-01,\ntaken@example.com,,test/image test/none\n',
      /line 2: A key must expire in the future.*\nline 3: The catalog has no model "test\/none"\./,
    ],
    [
      'an option of no row',
      'key create',
      '{"account":"taken@example.com","rpm":0}\n{"account":"taken@example.com","rmp":5}\n[1]\n{',
      /line 1: rpm: must be an integer above 0.*\nline 2: "rmp" is not a column\. Columns: account; if wanted: name, limit_usd.*\nline 3: is not a JSON object\.\nline 4: is not a JSON object\./,
    ],
    ['no column', 'credit', 'email,usd\na,1\n', /line 1: reference is missing\. Columns: email/],
    ['a column twice', 'credit', `email,${header}`, /line 1: The column email is there twice\./],
    ['other columns', 'credit', 'mail,usd,reference\n', /line 1: "mail" is not a column\./],
    ['more cells', 'credit', `${header}${good}a,1,b,c\n`, /not CSV: .*on line 3\./],
    ['an open quote', 'credit', `${header}"a,1,b\n`, /not CSV: .*line 2\./],
    ['nothing', 'credit', '', /The file has no rows\. Columns: email, usd, reference/],
    [
      'no text',
      'credit',
      Buffer.from([0xff, 0xfe, 0x41]),
      /cannot be read: it is not text in UTF-8/,
    ],
    ['too much', 'credit', ' '.repeat(2_000_001), /A file may have at most 2000000 bytes\./],
    [
      'too many rows',
      'credit',
      header + good.repeat(1001),
      /A file may have at most 1000 rows, not 1001\./,
    ],
    [
      'more faults than fit',
      'account create',
      `email\n${'nothing\n'.repeat(23)}`,
      /line 21: [^\n]+\nand 3 more faults\.$/,
    ],
  ];
  for (const [what, command, text, says] of refused)
    test(what, async () => {
      const earlier = await written();
      const ran = await from(command, text);
      assertSaid(ran, new RegExp(says.source, 'm'));
      assert.match(ran.json.error.message, says);
      assert.deepEqual(await written(), earlier);
    });

  test('no file, and options beside the file', async () => {
    const earlier = await written();
    assertSaid(
      await place.run(['credit', '--from', '/nowhere.csv']),
      /nowhere.csv cannot be read: ENOENT/,
    );
    for (const more of ['taken@example.com 5', '--reference r', '--source bonus'])
      assertSaid(
        await place.run(['credit', '--from', '/nowhere.csv', ...more.split(' ')]),
        /--from takes everything from the file\. Leave out the rest\./,
      );
    assert.deepEqual(await written(), earlier);
  });
});
