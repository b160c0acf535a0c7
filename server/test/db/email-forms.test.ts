/** The migration that gives addresses of earlier versions their form. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setEmailForms } from '../../src/db/accounts/email-forms.ts';
import * as accounts from '../../src/db/accounts/accounts.ts';
import * as people from '../../src/db/accounts/people.ts';
import { newId } from '../../src/lib/id.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { withDatabase } from '../kit/with-database.ts';

const { db } = withDatabase();

const stored = [
  'ada@example.com',
  'ada@bücher.example',
  'ｂｏ@example.com',
  'bo@example.com',
  'почта@example.com',
  'op\u200Bz@example.com',
  'p\u0430st@example.com',
];

test('names clashes and unusable addresses, changes no address, and people are found as before', async () => {
  for (const email of stored) {
    await db.run(sql`insert into people (id, name, email) values (${newId()}, ${'A'}, ${email})`);
    await accounts.insert(db, {
      id: newId(),
      email,
      is_operator: false,
      webhook_secret: 'whsec_x',
    });
  }
  const session = await db.connect();
  const notes = await setEmailForms(session).finally(() => session.end());
  const told = notes.map((note) => note.replace(/ [0-9a-f-]{36}:/, ':'));
  const expected = (noun: string) => [
    `${noun}: \\u{ff42}\\u{ff4f}@example.com is the same address as bo@example.com. It still signs in as it is stored.`,
    `${noun}: op\\u{200b}z@example.com is not usable. It still signs in as it is stored.`,
    `${noun}: p\\u{430}st@example.com is not usable. It still signs in as it is stored.`,
  ];
  assert.deepEqual(told, [...expected('Account'), ...expected('Person')]);
  for (const table of ['accounts', 'people']) {
    const rows = await db.run<{ email: string; email_form: string | null }>(
      rawSql(`select email, email_form from ${table} order by id`),
    );
    assert.deepEqual(
      rows.map(({ email }) => email),
      stored,
    );
    assert.deepEqual(
      rows.flatMap(({ email_form }) => email_form ?? []),
      ['ada@xn--bcher-kva.example'],
    );
  }
  const found = async (given: string) => [
    (await people.find(db, given))?.email,
    (await accounts.find(db, given))?.email,
  ];
  for (const [given, email] of [
    ...stored.map((each) => [each, each] as const),
    ['Ada@BÜCHER.example', 'ada@bücher.example'],
    ['ada@xn--bcher-kva.example', 'ada@bücher.example'],
    ['ＢＯ@example.com', 'ｂｏ@example.com'],
  ] as const)
    assert.deepEqual(await found(given), [email, email], given);
  assert.deepEqual(await found('opz@example.com'), [undefined, undefined]);
});

test('the form of an earlier address is taken, also for people whom no earlier check sees', async () => {
  const email = 'ada@xn--bcher-kva.example';
  const person = { id: newId(), name: 'Eve', email, email_verified: true, login_id: newId() };
  assert.equal(await people.insert(db, { ...person, password: 'x' }), false);
  const account = { id: newId(), email, is_operator: false, webhook_secret: 'whsec_x' };
  assert.equal(await accounts.insert(db, account), false);
  const [bo] = await db.run<{ id: string }>(sql`
    select id from people where email = 'bo@example.com'`);
  assert.equal(await people.setEmail(db, bo!.id, email), null);
  const raw = rawSql('insert into people (id, name, email) values ($1, $2, $3)', [
    newId(),
    'E',
    email,
  ]);
  await assert.rejects(db.run(raw), /people_email_form/);
});
