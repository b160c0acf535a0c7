/** Erasing a person: all that says who they are is gone, and the books stand as they were. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runCommand } from '../../../src/commands/program.ts';
import { proveBooks } from '../../../src/ledger/audit.ts';
import { changedSince, newestHead, readHead } from '../../../src/ledger/seals.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { commandLine, logAction } from '../../../src/operations/operator-action.ts';
import { lock } from '../../../src/db/accounts/accounts.ts';
import { lockNumbers } from '../../../src/db/operator-log.ts';
import { auditNews } from '../../../src/operations/audit.ts';
import { endDay } from '../../kit/end-day.ts';
import type { TestAccount } from '../../kit/service.ts';
import { traces } from '../../kit/traces.ts';
import { before, operatorOf, person, withWebService, type Person } from '../../kit/web.ts';
import { lost, ok, operatorKey, withRows } from './world.ts';

const { service } = withWebService();
let operator: Person;
before(async () => {
  operator = await operatorOf(service);
});

const act = (method: string, path: string, body?: object) =>
  withRows(service, () => operator.call(method, `/api/operator${path}`, body));
const erase = (who: Person, body = {}) => act('POST', `/people/${who.id}/erase`, body);

/** Tables with one of these words in any row, except those that the books need word for word. */
async function tablesWith(words: string[]): Promise<string[]> {
  const tables = await service.db.run<{ name: string }>(
    rawSql(`select relname as name from pg_class where relkind = 'r'
      and relnamespace = current_schema()::regnamespace order by 1`),
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await service.db.run<{ n: bigint }>(
      rawSql(
        `select count(*) as n from ${name} t where exists (
          select from unnest($1::text[]) w where position(w in t::text) > 0)`,
        [words],
      ),
    );
    if (row!.n > 0n) found.push(name);
  }
  return found;
}

/** By these columns a row is of a person ($1) or of their account ($2). */
const whose: Record<string, string> = {
  account_id: '= $2',
  person_id: '= $1',
  request_id: 'in (select id from requests where account_id = $2)',
  key_id: 'in (select id from keys where account_id = $2)',
};
/** The books are proved by these, or the service finds its way by them. */
const unmarked =
  /^(operator_log|transfers|seals|receipts|bonuses|transfer_sums|spend_days|usage_days|metadata_pairs)\.|\.(quote|storage_key|upstream|status|hash|token|email|email_form|role)$/;
/** Without a row of a person: what the operator or a chain says, and names that the operator gave. */
const notTheirs =
  /^(refusals|chain_deposits|chain_sightings|deposit_addresses|operator_events|resolutions|invitations)\./;

/** Writes a mark into each column of text that takes one, in the rows that are theirs. */
async function markAll(person_id: string, account_id: string) {
  const all = await service.db.run<{ name: string; type: string; owners: string[] }>(
    rawSql(`select table_name || '.' || column_name as name, data_type as type,
        array(select o.column_name::text from information_schema.columns o
          where (o.table_schema, o.table_name) = (c.table_schema, c.table_name)) as owners
      from information_schema.columns c join information_schema.tables using (table_schema, table_name)
      where table_schema = current_schema() and table_type = 'BASE TABLE'
        and data_type in ('text', 'json', 'jsonb', 'ARRAY', 'character varying') order by 1`),
  );
  const [marked, unseen]: [string[], string[]] = [[], []];
  for (const { name, type, owners } of all) {
    const [table, column] = name.split('.');
    const by = Object.keys(whose).find((each) => owners.includes(each));
    // The service names the keys of its studio.
    const special = {
      people: 'id = $1',
      accounts: 'id = $2',
      keys: 'account_id = $2 and not is_studio',
    };
    const own = special[table as 'keys'] ?? (by && `${by} ${whose[by]}`);
    if (own === undefined || unmarked.test(name)) continue;
    const value =
      { ARRAY: 'array[$3::text]', text: '$3::text' }[type] ?? "json_build_object('a', $3::text)";
    await service.db
      .tx(async (tx) => {
        await tx.run(rawSql('set local session_replication_role = replica'));
        const rows = await tx.run(
          rawSql(
            `with given as (select $1::uuid, $2::uuid)
              update ${table} set ${column} = ${value} where ${own} returning 1`,
            [person_id, account_id, markOf(name)],
          ),
        );
        (rows.length > 0 ? marked : unseen).push(name);
      })
      // It takes only words of the service.
      .catch((error: Error) => assert.match(error.message, /violates check constraint/));
  }
  return { marked, unseen };
}
const markOf = (name: string) => `mark of ${name}.`;

const textOf = async (table: string, where = 'true') => {
  const [row] = await service.db.run<{ text: string | null }>(
    rawSql(
      `select string_agg(t::text, ' ' order by t::text) as text from ${table} t where ${where}`,
    ),
  );
  return row!.text;
};
/** All that the books are proved by. */
const books = () =>
  Promise.all(
    ['transfers', 'balances', 'seals', 'seal_heads', 'bonuses', 'receipts'].map((t) => textOf(t)),
  );

/** Until so many statements wait for a lock. */
async function waiting(count = 1): Promise<void> {
  const held = rawSql(`select count(*) as n from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`);
  for (let n = 0n; n < count;) n = (await service.db.run<{ n: bigint }>(held as never))[0]!.n;
}

/** Runs all that is due, as a worker does within some minutes. */
async function settle(): Promise<void> {
  for (let n = 0; n < 3; n++) {
    await service.work();
    await service.app.worker!.sweep();
  }
}

const image = (who: Person, account: TestAccount, prompt: string) =>
  who
    .of(account.account_id)
    .call('POST', '/v1/queue/fake/image', { prompt })
    .then((sent) => ok(sent as never, 202).request_id as string);
const chat = async (who: Person, account: TestAccount, content: string) => {
  const body = { model: 'fake/chat', messages: [{ role: 'user', content }], max_tokens: 5 };
  ok((await who.of(account.account_id).call('POST', '/v1/chat/completions', body)) as never);
};

/** Somebody who works in a firm, and alone in an account of their own. */
async function worker(n: number) {
  const firm = await service.account({ usd: 5 });
  const own = await service.account({ usd: 3 });
  const stays = await person(service, { [firm.account_id]: 'owner' });
  const gone = await person(service, { [firm.account_id]: 'developer', [own.account_id]: 'owner' });
  const words = [gone.email, `Zebulon${n}`, `azure-heron-${n}`, `tag-${n}-of-mine`];
  await act('PATCH', `/people/${gone.id}`, { name: words[1] });
  return { firm, own, stays, gone, words };
}

describe('an erased person', () => {
  test('leaves no name, address, prompt or tag behind, and books that are the same', async () => {
    const { firm, own, stays, gone, words } = await worker(1);
    const [, , heron, tag] = words;
    await service.db.run(sql`
      update accounts set email = ${gone.email}, billed_to = ${`${words[1]!}\nTax 12`}, name = ${words[1]!}
        where id = ${own.account_id}`);
    ok(
      (
        await act('POST', `/accounts/${firm.account_id}/invitations`, {
          email: gone.email,
          role: 'owner',
        })
      ).reply as never,
      201,
    );
    await chat(gone, firm, `${heron} in a chat`);
    const seen = await image(gone, firm, `${heron} in the studio`);
    const kept = await image(stays, firm, 'a green owl');
    const body = { prompt: `${heron} of a program` };
    const headers = { 'x-metadata': JSON.stringify({ tag, of: gone.email }) };
    const program = ok(await own.post('/v1/queue/fake/image', body, { headers }), 202).request_id;
    await own.another({ name: `key of ${words[1]!}` });
    ok(await own.upload('a text of mine', 'text/plain'), 201);
    await service.work();
    await service.wakeAll();
    await service.work();
    await endDay(service.db);
    const proved = await auditNews(service.db, { days: 1, waits: true });
    assert.deepEqual(proved!.report.violations, []);
    const head = readHead((await newestHead(service.db))!.head)!;
    const output = (await stays.of(firm.account_id).call('GET', `/v1/requests/${seen}`)).body;
    const url: string = output.output_urls[0];
    assert.equal((await fetch(url)).status, 200);
    const earlier = await books();
    const others = await textOf('request_inputs', `request_id = '${kept}'`);
    assert.ok((await tablesWith(words)).length > 5);

    const { reply, rows } = await erase(gone, { accounts: 'close' });
    assert.equal(reply.status, 200, reply.text);
    const [left] = reply.body.closed;
    assert.equal(left.account_id, own.account_id);
    assert.equal(left.available_usd_micro, String((await service.balance(own)).available));
    assert.deepEqual(
      rows.map((row) => [row.action, row.target, row.details]),
      [['person.erase', `${gone.id}@erased.invalid`, { accounts: 2, closed: [own.account_id] }]],
    );
    assert.deepEqual(
      await tablesWith([gone.email, words[1]!]),
      ['request_inputs', 'metadata_pairs'].toSorted(),
    );
    await settle();
    assert.deepEqual(await tablesWith(words), []);
    assert.equal((await fetch(url)).status, 410);
    assert.deepEqual(await textOf('files', `account_id = '${own.account_id}'`), null);

    assert.deepEqual(await books(), earlier);
    assert.deepEqual((await proveBooks(service.db)).violations, []);
    assert.deepEqual(await changedSince(service.db, head), { isKnown: true, found: [] });
    assert.equal((await gone.call('GET', '/api/me')).status, 401);
    assert.equal((await gone.signIn()).status, 401);
    assert.equal((await own.get('/v1/balance')).status, 401);
    const statement = await act('GET', `/accounts/${own.account_id}/statement`);
    assert.ok(
      statement.reply.body.data.some((row: { request_id: string }) => row.request_id === program),
    );

    assert.equal(await textOf('request_inputs', `request_id = '${kept}'`), others);
    assert.equal((await stays.call('GET', '/api/me')).status, 200);
    assert.equal((await firm.get('/v1/balance')).status, 200);
    const open = sql`select id from erasures where ended_at is null`;
    assert.deepEqual(await service.db.run(open), []);
  });

  test('leaves no word behind in any column of text, a new one neither', async () => {
    const { own, gone } = await worker(9);
    service.fake.behave.start = () => ({ outcome: 'unknown', message: 'lost' });
    await image(gone, own, 'a prompt');
    await service.work();
    service.fake.behave = {};
    await image(gone, own, 'another');
    ok(await own.upload('a text of mine', 'text/plain'), 201);
    await service.work();
    await service.wakeAll();
    await service.work();
    const [at, id] = [`date_bin('1 hour', now(), 'epoch')`, `'${own.account_id}'`];
    for (const rows of [
      `alerts (account_id) values (${id})`,
      `alert_causes (account_id, cause, subject, period_start, facts)
        values (${id}, 'jobs', 'a', now(), '{}')`,
      `refused_calls (id, account_id, key_id, began_at, code, place, call_id, created_at, path, status)
        select gen_random_uuid(), account_id, id, ${at}, 'a', 1, 'a', now(), '/', 400
        from keys where account_id = ${id} limit 1`,
      `webhook_deliveries (account_id, url, attempt, duration_ms, cause)
        values (${id}, 'https://a', null, 1, 'low_balance')`,
      `passkeys (id, person_id, public_key, credential_id, counter, device_type, backed_up)
        values (gen_random_uuid(), '${gone.id}', 'a', 'a', 0, 'a', false)`,
      `two_factors (id, person_id, secret, backup_codes)
        values (gen_random_uuid(), '${gone.id}', 'a', 'a')`,
    ])
      await service.db.run(rawSql(`insert into ${rows}`));
    const { marked, unseen } = await markAll(gone.id, own.account_id);
    assert.deepEqual(
      unseen.filter((name) => !notTheirs.test(name)),
      [],
      'give the scene a row of each table',
    );
    assert.ok(marked.length > 50);
    assert.equal((await tablesWith(marked.map(markOf))).length > 10, true);
    ok((await erase(gone, { accounts: 'close' })).reply as never);
    await settle();
    const left: string[] = [];
    for (const name of marked) if ((await tablesWith([markOf(name)])).length > 0) left.push(name);
    // Names of models and upstreams in the catalog.
    assert.deepEqual(left, [
      'keys.models',
      'request_results.doubt_upstream',
      'requests.model_id',
      'requests.upstream_model',
    ]);
  });

  test('is not erased by mistake while an account has nobody else', async () => {
    const { firm, own, stays, gone } = await worker(2);
    const earlier = await traces(service);
    const alone = await erase(gone);
    assert.equal(alone.reply.status, 400);
    assert.equal(alone.reply.body.error.details.reason, 'person_last');
    assert.match(alone.reply.body.error.message, new RegExp(own.email));
    const last = await erase(stays, { accounts: 'close' });
    assert.equal(last.reply.body.error.details.reason, 'owner_last');
    const request = await own.post('/v1/queue/fake/image', { prompt: 'a cat' });
    const open = await erase(gone, { accounts: 'close' });
    assert.equal(open.reply.body.error.details.reason, 'requests_open');
    assert.deepEqual([...alone.rows, ...last.rows, ...open.rows], []);
    assert.equal((await own.get('/v1/balance')).status, 200, 'a key was revoked');
    assert.equal((await gone.call('GET', '/api/me')).status, 200);
    ok(await own.post(`/v1/requests/${request.body.request_id}/cancel`));
    const now = await traces(service);
    assert.deepEqual([now.accounts, now.keys], [earlier.accounts, earlier.keys]);
    assert.equal((await erase(operator)).reply.body.error.details.reason, 'own_console');
    assert.equal((await firm.get('/v1/balance')).status, 200);
  });

  test('leaves an account as it is, if the operator says so', async () => {
    const { own, gone, words } = await worker(3);
    const sent = await own.post('/v1/queue/fake/image', { prompt: `${words[2]!} of a program` });
    await chat(gone, own, `${words[2]!} of a person`);
    const { reply } = await erase(gone, { accounts: 'leave' });
    assert.deepEqual(reply.body, { person_id: gone.id, closed: [] });
    await settle();
    assert.equal((await own.get('/v1/balance')).status, 200);
    assert.deepEqual(await tablesWith([words[0]!, words[1]!]), []);
    const { body } = await own.get(`/v1/requests/${sent.body.request_id}`);
    assert.equal(body.input.prompt, `${words[2]!} of a program`);
    const [inputs] = await service.db.run<{ n: bigint }>(sql`
      select count(*) as n from request_inputs where input::text like ${`%${words[2]!}%`}`);
    assert.equal(inputs!.n, 1n);
  });

  test('who ran the service is nobody in its log, whose other words stay, and closed to changes', async () => {
    const former = await operatorOf(service);
    const { account_id } = await service.account({ usd: 3 });
    const wrote = (path: string, body?: object) =>
      former.call('POST', `/api/operator${path}`, body);
    const credit = { amount_usd_micro: '5', reference: 'wire 7', source: 'paid', note: 'by hand' };
    ok((await wrote(`/accounts/${account_id}/credits`, credit)) as never, 201);
    const customer = await service.account({ usd: 3 });
    const outcome = { outcome: 'ran', cost_usd_micro: '7' };
    ok((await wrote(`/requests/${await lost(service, customer)}/resolve`, outcome)) as never);
    const [own] = await service.db.run<{ account_id: string }>(sql`
      select account_id from members where person_id = ${former.id}`);
    await person(service, { [own!.account_id]: 'owner' });
    const earlier = await service.db.run(sql`
      select id, seq, action, account_id, details, created_at from operator_log
        where by_email = ${former.email} order by seq`);
    assert.equal(earlier.length, 2);
    const { reply } = await erase(former);
    assert.equal(reply.status, 200, reply.text);
    const later = await service.db.run(sql`
      select id, seq, action, account_id, details, created_at from operator_log
        where by_email = ${`${former.id}@erased.invalid`} order by seq`);
    assert.deepEqual(later, earlier);
    assert.deepEqual(await tablesWith([former.email]), []);
    for (const table of ['operator_log', 'resolutions'])
      await assert.rejects(
        service.db.run(rawSql(`update ${table} set by_email = 'x'`)),
        /append-only/,
      );
    assert.deepEqual((await proveBooks(service.db)).violations, []);
  });

  test('is erased by a command and a key too, and listed until a worker is done', async () => {
    const { own, gone, words } = await worker(4);
    await chat(gone, own, words[2]!);
    const run = async (...args: string[]) => {
      let said = '';
      const out = (text: string) => void (said += text);
      const env = {};
      const code = await runCommand([...args, '--json'], { out, err: out, db: service.db, env });
      return { code, said };
    };
    const refused = await run('person', 'erase', gone.email);
    assert.equal(refused.code, 2, refused.said);
    assert.match(refused.said, /close .*or leave/);
    const done = await run('person', 'erase', gone.email, '--accounts', 'close');
    assert.equal(done.code, 0, done.said);
    assert.equal(JSON.parse(done.said).person_id, gone.id);
    const listed = async () =>
      JSON.parse((await run('person', 'erasures', '--limit', '1')).said).data.map(
        (row: Record<string, unknown>) => [row.person_id, row.is_closed, row.ended_at === null],
      );
    assert.deepEqual(await listed(), [[gone.id, true, true]]);
    await settle();
    assert.deepEqual(await listed(), [[gone.id, true, false]]);
    assert.deepEqual(await tablesWith(words), []);
    const { key } = await operatorKey(service, 'erases', ['accounts']);
    const late = await service.call('POST', `/v1/operator/people/${gone.id}/erase`, {
      key,
      body: {},
    });
    assert.equal(late.status, 404);
  });

  test('leaves references and reasons with their address, so that the audit stays right', async () => {
    const { own, gone } = await worker(5);
    const path = `/accounts/${own.account_id}`;
    const credit = { amount_usd_micro: '5', reference: gone.email, source: 'paid' };
    ok((await act('POST', `${path}/credits`, credit)).reply as never, 201);
    const correction = { amount_usd_micro: '-5', reference: `x${gone.id}`, reason: gone.email };
    ok((await act('POST', `${path}/adjustments`, correction)).reply as never, 201);
    const { reply } = await erase(gone, { accounts: 'close' });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual((await proveBooks(service.db)).violations, []);
    assert.deepEqual(await tablesWith([gone.email]), ['operator_log', 'transfers']);
  });

  test('takes nobody else along, with an account or an address that is or was theirs', async () => {
    const boss = await operatorOf(service);
    const { own, gone } = await worker(6);
    const bossAccount = `boss-account-${gone.id}@example.com`;
    const [bossOwn] = await service.db.run<{ id: string }>(sql`
      update accounts set email = ${bossAccount} where id = (
        select account_id from members where person_id = ${boss.id}) returning id`);
    const write = (account: string) =>
      boss.call('POST', `/api/operator/accounts/${account}/suspend`);
    ok((await write((await service.account({ usd: 1 })).account_id)) as never);
    // The account that is closed has the address of an operator.
    await service.db.run(sql`
      update accounts set email = ${boss.email} where id = ${own.account_id}`);
    await act('POST', `/accounts/${own.account_id}/suspend`);
    const ofBoss = () =>
      service.db.run(sql`select id, by_email, target from operator_log
          where ${boss.email} in (by_email, target) order by seq`);
    const earlier = await ofBoss();
    assert.equal(earlier.length, 2);
    assert.equal((await erase(gone, { accounts: 'close' })).reply.status, 200);
    assert.deepEqual(await ofBoss(), earlier);
    assert.equal((await boss.call('GET', '/api/me')).status, 200);
    const [closed] = await service.db.run<{ email: string }>(sql`
      select email from accounts where id = ${own.account_id}`);
    assert.equal(closed!.email, `${own.account_id}@erased.invalid`);

    // A customer gets the address of an operator's account, and then that of a removed operator.
    const other = await worker(7);
    const take = (email: string) =>
      act('PATCH', `/people/${other.gone.id}`, { email }).then(({ reply }) => ok(reply as never));
    await take(bossAccount);
    await person(service, { [bossOwn!.id]: 'owner' });
    assert.equal((await act('DELETE', `/people/${boss.id}`)).reply.status, 200);
    await take(boss.email);
    const { reply } = await erase({ ...other.gone, email: boss.email }, { accounts: 'close' });
    assert.equal(reply.status, 200, reply.text);
    const [kept] = await service.db.run<{ email: string }>(sql`
      select email from accounts where id = ${bossOwn!.id}`);
    assert.equal(kept!.email, bossAccount);
    const later = await ofBoss();
    assert.deepEqual(later.slice(0, 2), earlier);
    assert.equal(later.length, 3, 'only the row of their removal was added');
  });

  test('leaves an account that has only its name of them at its address, in the log too', async () => {
    const { firm, gone } = await worker(10);
    const { account_id } = firm;
    await service.db.run(sql`update accounts set name = ${gone.email} where id = ${account_id}`);
    await act('POST', `/accounts/${account_id}/suspend`);
    const told = () =>
      service.db.run(sql`select l.id from operator_log l join accounts a on a.email = l.target
        where a.id = ${account_id} and a.name is null`);
    assert.deepEqual(await told(), []);
    assert.equal((await erase(gone, { accounts: 'close' })).reply.status, 200);
    assert.equal((await told()).length, 1);
  });

  test('keeps the rows of whoever had their address before', async () => {
    const { gone: bob } = await worker(8);
    const shared = `shared-${bob.id}@example.com`;
    const rename = (email: string) => act('PATCH', `/people/${bob.id}`, { email });
    assert.equal((await rename(shared)).reply.status, 200);
    await act('POST', `/people/${bob.id}/sign-out`);
    assert.equal((await rename(`bob2-${bob.id}@example.com`)).reply.status, 200);
    const { gone: ana } = await worker(9);
    await act('PATCH', `/people/${ana.id}`, { email: shared });
    await act('POST', `/people/${ana.id}/sign-out`);
    const rows = () =>
      service.db.run<{ n: bigint }>(sql`select count(*) as n from operator_log
          where target = ${shared} or position(${shared} in details::text) > 0`);
    assert.equal((await rows())[0]!.n, 5n);
    assert.equal((await erase(ana, { accounts: 'leave' })).reply.status, 200);
    assert.equal((await rows())[0]!.n, 3n);
    // The address is free, and somebody else is invited at it.
    const { firm } = await worker(13);
    const invitation = { email: shared, role: 'billing' };
    const path = `/accounts/${firm.account_id}/invitations`;
    ok((await act('POST', path, invitation)).reply as never, 201);
    assert.equal((await erase(bob, { accounts: 'leave' })).reply.status, 200);
    assert.equal((await rows())[0]!.n, 1n);
    const open = sql`select id from invitations where email = ${shared}`;
    assert.equal((await service.db.run(open)).length, 1);
  });

  test('leaves an account to an owner who joins at the last moment', async () => {
    const { own, gone } = await worker(10);
    const next = await person(service);
    const { erasing } = await service.db.tx(async (tx) => {
      await lock(tx, own.account_id);
      const asked = erase(gone, { accounts: 'close' });
      await waiting();
      await tx.run(sql`insert into members (account_id, person_id, role)
          values (${own.account_id}, ${next.id}, 'owner')`);
      return { erasing: asked };
    });
    const { reply } = await erasing;
    assert.deepEqual(reply.body, { person_id: gone.id, closed: [] });
    assert.equal((await own.get('/v1/balance')).status, 200, 'a key was revoked');
  });

  test('waits for another writer of the log, once, and is erased once', async () => {
    const { gone } = await worker(11);
    let tries = 0;
    const { asked } = await service.db.tx(async (tx) => {
      tries++;
      await lockNumbers(tx);
      const both = Promise.all([1, 2].map(() => erase(gone, { accounts: 'close' })));
      await waiting(2);
      logAction(tx, commandLine, { action: 'books.mend' });
      return { asked: both };
    });
    const replies = await asked;
    assert.deepEqual(replies.map(({ reply }) => reply.status).toSorted(), [200, 404]);
    assert.equal(tries, 1, 'a deadlock');
    assert.deepEqual((await proveBooks(service.db)).violations, []);
  });

  test('has an open request, for which the others are not written again', async () => {
    const { firm, gone, words } = await worker(12);
    const open = await image(gone, firm, `${words[2]!}, open`);
    await chat(gone, firm, `${words[2]!}, over`);
    assert.equal((await erase(gone, { accounts: 'leave' })).reply.status, 200);
    const sweep = async () => {
      await service.app.worker!.sweep();
      const rows = await service.db.run<{ at: string; id: string; prompt: string | null }>(sql`
        select r.ctid::text || i.ctid::text as at, r.id, i.prompt from requests r
          join request_inputs i on i.request_id = r.id where r.person_id = ${gone.id} order by r.id`);
      return rows;
    };
    const [first, last] = await sweep();
    assert.deepEqual([first!.id, first!.prompt], [open, `${words[2]!}, open`]);
    assert.equal(last!.prompt, null);
    assert.equal((await sweep())[1]!.at, last!.at);
    await settle();
    await service.wakeAll();
    await settle();
    assert.deepEqual(await tablesWith([words[2]!]), []);
    const left = sql`select id from erasures where ended_at is null and person_id = ${gone.id}`;
    assert.deepEqual(await service.db.run(left), []);
  });

  test('is not asked about the account of operators, which keeps an owner', async () => {
    const former = await operatorOf(service);
    const { reply, rows } = await erase(former);
    assert.equal(reply.body.error.details.reason, 'owner_last');
    assert.deepEqual(rows, []);
    assert.equal((await former.call('GET', '/api/me')).status, 200);
  });
});
