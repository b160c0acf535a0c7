/** The people of an account: who may change them, and which changes are always refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Role } from '../../../src/core/account/role.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { removeMember } from '../../../src/operations/accounts/team.ts';
import { inShort } from '../../kit/long.ts';
import { createAccount } from '../../../src/operations/accounts/account.ts';
import { invite } from '../../../src/operations/accounts/person.ts';
import {
  operatorOf,
  originOf,
  password,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Person,
} from '../../kit/web.ts';

const { service } = withWebService();

/** An account with a person of each named role. */
async function teamOf<R extends string>(...names: R[]) {
  const { account_id } = await service.account();
  const people: Person[] = [];
  // One after the other, because the page shows people in the order in which they joined.
  for (const name of names) {
    people.push(await person(service, { [account_id]: name.replace(/\d$/, '') as Role }));
  }
  return { account_id, people, of: (i: number) => people[i]!.of(account_id) };
}
const rolesOf = async (account_id: string) =>
  (
    await service.db.run<{ role: Role }>(sql`select role from members
      where account_id = ${account_id} order by role`)
  ).map(({ role }) => role);

describe('a read-only person', () => {
  test('sees the people of the account; only owners see invitations', async () => {
    const { people, of } = await teamOf('owner', 'read_only');
    await of(0).call('POST', '/invitations', { email: 'New@Example.com', role: 'billing' });
    const seen = (await of(1).call('GET', '/team')).body;
    assert.deepEqual(
      seen.members.map(({ email, role, is_me }: any) => [email, role, is_me]),
      [
        [people[0]!.email, 'owner', false],
        [people[1]!.email, 'read_only', true],
      ],
    );
    assert.deepEqual(seen.invitations, []);
    assert.ok(!('two_factor_enabled' in seen.members[0]));
    const owned = (await of(0).call('GET', '/team')).body;
    assert.deepEqual(
      owned.invitations.map(({ email, role }: any) => [email, role]),
      [['new@example.com', 'billing']],
    );
    assert.doesNotMatch(JSON.stringify(owned), /token|url|hash/);
  });
});

describe('an owner', () => {
  test('sets roles, which apply from the next call on', async () => {
    const { people, of } = await teamOf('owner', 'read_only');
    assert.equal((await of(1).call('POST', '/invitations', {})).status, 403);
    const path = `/members/${people[1]!.id}`;
    assert.equal((await of(0).call('PATCH', path, { role: 'owner' })).status, 200);
    assert.equal((await of(1).call('PATCH', '/account', { name: 'Ours' })).status, 200);
    assert.equal((await people[0]!.call('GET', '/api/me')).body.accounts[0].name, 'Ours');
    assert.equal((await of(0).call('PATCH', path, { role: 'billing' })).status, 200);
    assert.equal((await of(1).call('PATCH', '/account', { name: 'Mine' })).status, 403);
  });

  test('removes people, who then see nothing', async () => {
    const { people, of, account_id } = await teamOf('owner', 'developer');
    assert.equal((await of(0).call('DELETE', `/members/${people[1]!.id}`)).status, 200);
    assert.equal((await of(1).call('GET', '/team')).status, 404);
    assert.equal((await of(0).call('DELETE', `/members/${people[1]!.id}`)).status, 404);
    assert.deepEqual(await rolesOf(account_id), ['owner']);
  });

  test('changes nobody of another account', async () => {
    const { of } = await teamOf('owner');
    const other = await teamOf('owner', 'developer');
    const invited = await other.of(0).call('POST', '/invitations', {
      email: 'z@example.com',
      role: 'owner',
    });
    const path = `/members/${other.people[1]!.id}`;
    const answers = [
      await of(0).call('PATCH', path, { role: 'read_only' }),
      await of(0).call('DELETE', path),
      await of(0).call('DELETE', `/invitations/${invited.body.invitation_id}`),
      await of(0).call('DELETE', '/members/x'),
      await of(0).call('DELETE', '/invitations/x'),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404, 404, 404],
    );
    assert.deepEqual(await rolesOf(other.account_id), ['developer', 'owner']);
    assert.equal((await other.of(0).call('GET', '/team')).body.invitations.length, 1);
  });

  const wrong = [
    ['a role that is none', 'PATCH', '/members/ID', { role: 'king' }, 'role'],
    ['an invitation without a role', 'POST', '/invitations', { email: 'a@b.c' }, 'role'],
    ['an account without a name', 'PATCH', '/account', { name: '' }, 'name'],
    ['a name of blanks', 'PATCH', '/account', { name: '  ' }],
    ['a name with a line break', 'PATCH', '/account', { name: 'a\nb' }],
    ['a name that turns the text around', 'PATCH', '/account', { name: 'a\u202Eb' }],
    ['a name with a width of zero in it', 'PATCH', '/account', { name: 'a\u200Bb' }],
  ] as const;
  for (const [what, method, path, body, param] of inShort(3, wrong)) {
    test(`gets an error about ${what}`, async () => {
      const { people, of } = await teamOf('owner');
      const reply = await of(0).call(method, path.replace('ID', people[0]!.id), body);
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'bad_request']);
      if (param) assert.equal(reply.body.error.param, param);
    });
  }
});

describe('the last owner', () => {
  test('can neither leave, nor be removed, nor get another role', async () => {
    const { people, of, account_id } = await teamOf('owner', 'developer');
    const path = `/members/${people[0]!.id}`;
    for (const reply of [
      await of(0).call('PATCH', path, { role: 'billing' }),
      await of(0).call('DELETE', path),
      await of(0).call('POST', '/leave', {}),
    ]) {
      assert.equal(reply.status, 400);
      assert.match(reply.body.error.message, /at least one owner/);
    }
    assert.deepEqual(await rolesOf(account_id), ['developer', 'owner']);
  });

  test('stays if two owners remove each other at the same time', async () => {
    for (let i = 0; i < 5; i++) {
      const { people, account_id } = await teamOf('owner1', 'owner2');
      await Promise.allSettled(
        people.map(({ id: person_id, email }) =>
          removeMember(service.db, { account_id, person_id }, { person_id, email }),
        ),
      );
      assert.deepEqual(await rolesOf(account_id), ['owner']);
    }
  });

  test('stays by a law of the database', async () => {
    const { people, account_id } = await teamOf('owner', 'developer');
    const breaches = [
      `update members set role = 'billing' where account_id = '${account_id}' and role = 'owner'`,
      `delete from members where account_id = '${account_id}' and role = 'owner'`,
      `delete from people where id = '${people[0]!.id}'`,
    ];
    for (const breach of breaches)
      await assert.rejects(service.db.run(rawSql(breach)), { code: '23514' }, breach);
    assert.deepEqual(await rolesOf(account_id), ['developer', 'owner']);
    await service.db.run(rawSql('delete from members where account_id = $1', [account_id]));
    assert.deepEqual(await rolesOf(account_id), []);
  });

  test('can leave once there is another owner, and may open a new account', async () => {
    const { people, of } = await teamOf('owner1', 'owner2');
    const early = await people[0]!.call('POST', '/api/me/account', {});
    assert.equal(early.status, 400);
    assert.equal((await of(0).call('POST', '/leave', {})).status, 200);
    assert.equal((await of(0).call('GET', '/team')).status, 404);
    assert.deepEqual((await people[0]!.call('GET', '/api/me')).body.accounts, []);
    const opened = await Promise.all(
      [1, 2, 3].map(() => people[0]!.call('POST', '/api/me/account', {})),
    );
    assert.deepEqual(opened.map(({ status }) => status).sort(), [200, 400, 400]);
    const { accounts } = (await people[0]!.call('GET', '/api/me')).body;
    assert.deepEqual(
      accounts.map(({ role }: any) => role),
      ['owner'],
    );
  });
});

describe('an invitation', () => {
  const accept = (url: string, email: string) => {
    const token = new URL(url).searchParams.get('token');
    return stranger(service).call('POST', '/api/sign-up', {
      name: 'Ada',
      email,
      password,
      token,
    });
  };

  test('shows its link once, which leads in with the role that it names', async () => {
    const { of, account_id } = await teamOf('owner');
    const email = 'comes@example.com';
    const { body } = await of(0).call('POST', '/invitations', { email, role: 'billing' });
    assert.equal(new URL(body.url).origin, originOf(service));
    assert.equal(body.mailed, false);
    assert.equal((await accept(body.url, email)).status, 200);
    const ada = visitorOf(service, '', email);
    await ada.signIn();
    assert.deepEqual((await ada.call('GET', '/api/me')).body.accounts, [
      {
        account_id,
        name: (await ada.call('GET', '/api/me')).body.accounts[0].name,
        role: 'billing',
        status: 'active',
        is_operator: false,
      },
    ]);
    assert.deepEqual((await of(0).call('GET', '/team')).body.invitations, []);
  });

  test('that is withdrawn, or made again, is void', async () => {
    const { of } = await teamOf('owner');
    const email = 'twice-invited@example.com';
    const make = () => of(0).call('POST', '/invitations', { email, role: 'owner' });
    const [first, second] = [(await make()).body, (await make()).body];
    assert.equal((await of(0).call('GET', '/team')).body.invitations.length, 1);
    assert.equal((await accept(first.url, email)).status, 400);
    const path = `/invitations/${second.invitation_id}`;
    assert.equal((await of(0).call('DELETE', path)).status, 200);
    assert.equal((await of(0).call('DELETE', path)).status, 404);
    assert.equal((await accept(second.url, email)).status, 400);
  });

  test('is not made for people of the account, and not without limit', async () => {
    const { people, of } = await teamOf('owner', 'billing');
    const make = (email: string) => of(0).call('POST', '/invitations', { email, role: 'owner' });
    assert.match((await make(people[1]!.email)).body.error.message, /belongs to this account/);
    const statuses = [];
    for (let i = 0; i < 30; i++) statuses.push((await make(`many${i}@example.com`)).status);
    assert.deepEqual([...new Set(statuses)], [200, 429]);
    assert.equal(statuses.filter((status) => status === 200).length, 29);
  });

  test('does not lead into an account that is full, not even an operator’s', async () => {
    const { of, account_id } = await teamOf('owner');
    const email = 'one-too-many@example.com';
    const { body } = await of(0).call('POST', '/invitations', { email, role: 'owner' });
    await service.db.run(sql`with p as (insert into people (id, name, email)
           select gen_random_uuid(), 'x', n || '@full.example' from generate_series(1, 499) n returning id)
         insert into members (account_id, person_id, role) select ${account_id}, id, 'billing' from p`);
    const refused = await accept(body.url, email);
    assert.equal(refused.status, 400, refused.text);
    assert.equal(refused.body.error.details.reason, 'people_too_many');
    assert.equal((await visitorOf(service, '', email).signIn()).status, 401, 'nobody was made');
    const { members } = (await of(0).call('GET', '/team')).body;
    assert.equal(members.length, 500);
    await service.db.run(sql`delete from members where account_id = ${account_id}
      and role = 'billing'`);
    assert.equal((await accept(body.url, email)).status, 200);
  });

  test('does not lead a person into more than a hundred accounts', async () => {
    const { of, account_id } = await teamOf('owner');
    const { of: ofOther, people } = await teamOf('owner');
    const [guest] = people;
    const others = await Promise.all(
      Array.from({ length: 99 }, (_, n) =>
        createAccount(service.db, { email: `of-guest-${n}@example.com`, is_operator: false }),
      ),
    );
    await service.db.run(sql`insert into members (account_id, person_id, role)
         select unnest(${others.map(({ id }) => id)}::uuid[]), ${guest!.id}, 'billing'`);
    const make = { email: guest!.email, role: 'developer' };
    const { body } = await of(0).call('POST', '/invitations', make);
    const token = new URL(body.url).searchParams.get('token');
    const refused = await guest!.call('POST', '/api/invitation/accept', { token });
    assert.equal(refused.status, 400, refused.text);
    assert.equal(refused.body.error.details.reason, 'accounts_too_many');
    assert.deepEqual(await rolesOf(account_id), ['owner']);
    assert.equal((await guest!.call('GET', '/api/me')).body.accounts.length, 100);
    assert.equal((await ofOther(0).call('GET', '/team')).status, 200);
    await service.db.run(sql`delete from members where person_id = ${guest!.id}
      and account_id = ${others[0]!.id}`);
    const joined = await guest!.call('POST', '/api/invitation/accept', { token });
    assert.equal(joined.status, 200, joined.text);
  });

  test('is used by only one of two people at the same time', async () => {
    const { of, account_id } = await teamOf('owner');
    const email = 'races@example.com';
    const { body } = await of(0).call('POST', '/invitations', { email, role: 'developer' });
    await Promise.all([accept(body.url, email), accept(body.url, email)]);
    assert.deepEqual(await rolesOf(account_id), ['developer', 'owner']);
  });
});

describe('an invitation of a person who may no longer invite', () => {
  const invited = async (of: (i: number) => Pick<Person, 'call'>, email: string) => {
    const { body } = await of(1).call('POST', '/invitations', { email, role: 'owner' });
    return new URL(body.url).searchParams.get('token')!;
  };
  const use = async (who: Person, token: string) =>
    (await who.call('POST', '/api/invitation/accept', { token })).status;

  const ends: [
    string,
    (of: (i: number) => Pick<Person, 'call'>, id: string) => Promise<unknown>,
  ][] = [
    ['was taken out', (of, id) => of(0).call('DELETE', `/members/${id}`)],
    ['left', (of) => of(1).call('POST', '/leave', {})],
    [
      'became something else',
      (of, id) => of(0).call('PATCH', `/members/${id}`, { role: 'read_only' }),
    ],
  ];
  for (const [what, end] of ends) {
    test(`and ${what}, makes no owner and is not shown`, async () => {
      const { people, of, account_id } = await teamOf('owner1', 'owner2');
      const mole = await person(service);
      const token = await invited(of, mole.email);
      await end(of, people[1]!.id);
      assert.equal(await use(mole, token), 400);
      assert.equal((await rolesOf(account_id)).filter((role) => role === 'owner').length, 1);
      assert.deepEqual((await of(0).call('GET', '/team')).body.invitations, []);
    });
  }

  test('is void from then on; an operator’s own is valid', async () => {
    const { of, account_id, people } = await teamOf('owner1', 'owner2');
    const mole = await person(service);
    const token = await invited(of, mole.email);
    await service.db.run(sql`delete from members where account_id = ${account_id}
      and person_id = ${people[1]!.id}`);
    assert.equal(await use(mole, token), 400);
    const { id: invited_by } = await operatorOf(service);
    const wanted = { account_id, email: mole.email, role: 'billing', invited_by } as const;
    assert.equal(await use(mole, (await invite(service.db, wanted)).token), 200);
  });

  test('of others stays valid', async () => {
    const { of, people } = await teamOf('owner1', 'owner2');
    const friend = await person(service);
    const { body } = await of(0).call('POST', '/invitations', {
      email: friend.email,
      role: 'billing',
    });
    await of(0).call('DELETE', `/members/${people[1]!.id}`);
    assert.equal(await use(friend, new URL(body.url).searchParams.get('token')!), 200);
  });
});

describe('the people of an operator’s account', () => {
  const logOf = async (account_id: string) =>
    service.db.run<Record<'action' | 'by_email' | 'target' | 'details', any>>(sql`
      select action, by_email, target, details from operator_log where account_id = ${account_id}
         order by id`);

  test('are changed with a row in the operator’s log', async () => {
    const email = `operators${Date.now()}@example.com`;
    const { id } = await createAccount(service.db, { email, is_operator: true });
    const ada = await person(service, { [id]: 'owner' });
    const grace = await person(service);
    const of = ada.of(id);
    const made = async (to: string) =>
      (await of.call('POST', '/invitations', { email: to, role: 'owner' })).body;
    const withdrawn = await made('never@example.com');
    await of.call('DELETE', `/invitations/${withdrawn.invitation_id}`);
    const { url } = await made(grace.email);
    const token = new URL(url).searchParams.get('token');
    assert.equal((await grace.call('POST', '/api/invitation/accept', { token })).status, 200);
    await of.call('PATCH', `/members/${grace.id}`, { role: 'billing' });
    await of.call('DELETE', `/members/${grace.id}`);
    const signed = await made('signs-up@example.com');
    await stranger(service).call('POST', '/api/sign-up', {
      name: 'Eve',
      email: 'signs-up@example.com',
      password,
      token: new URL(signed.url).searchParams.get('token'),
    });
    assert.equal((await of.call('POST', '/leave', {})).status, 200);
    const rows = await logOf(id);
    const role = { role: 'owner' };
    const changed = { role: 'billing', before: role };
    assert.deepEqual(
      rows.map(({ action, by_email: by, target, details }) => [action, by, target, details]),
      [
        ['team.invite', ada.email, 'never@example.com', role],
        ['team.withdraw', ada.email, 'never@example.com', role],
        ['team.invite', ada.email, grace.email, role],
        ['team.join', grace.email, grace.email, role],
        ['team.role', ada.email, grace.email, changed],
        ['team.remove', ada.email, grace.email, { role: 'billing' }],
        ['team.invite', ada.email, 'signs-up@example.com', role],
        ['team.join', 'signs-up@example.com', 'signs-up@example.com', role],
        ['team.remove', ada.email, ada.email, role],
      ],
    );
  });

  test('that change nothing, and those of other accounts, leave none', async () => {
    const email = `operators-alone${Date.now()}@example.com`;
    const { id } = await createAccount(service.db, { email, is_operator: true });
    const ada = await person(service, { [id]: 'owner' });
    assert.equal((await ada.of(id).call('POST', '/leave', {})).status, 400);
    assert.deepEqual(await logOf(id), []);
    const { of, people, account_id } = await teamOf('owner', 'billing');
    await of(0).call('DELETE', `/members/${people[1]!.id}`);
    const rows = await logOf(account_id);
    // The account's first deposit.
    assert.deepEqual(
      rows.map(({ action }) => action),
      ['account.credit'],
    );
  });
});
