/** The links of letters: what opening them does not do, and who may use them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sql } from '../../../src/lib/sql/sql.ts';
import { openPost, type Post } from '../../kit/post.ts';
import { until } from '../../kit/until.ts';
import {
  originOf,
  password,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Person,
} from '../../kit/web.ts';

let post: Post;
const { service } = withWebService(async (use) => {
  post = use(await openPost());
  return { env: { FAREBOX_SMTP_URL: post.url } };
});

let made = 0;
const fresh = () => `reader${++made}@example.com`;
const linkTo = async (email: string) => (await post.letterTo(email)).links[0]!;
const tokenOf = (link: string) => new URL(link).searchParams.get('token')!;
const isProven = async (email: string) => {
  const rows = await service.db.run(sql`select from people where email = ${email}
    and email_verified`);
  return rows.length > 0;
};
async function signUp(email: string, who = stranger(service)): Promise<Person> {
  const body = { name: 'Ada', email, password };
  const { body: reply } = await who.call('POST', '/api/sign-up', body);
  assert.deepEqual(reply, { status: 'check_mail' });
  return who;
}

/** Every kind of letter with a link, each with the address that it is sent to. */
const letters: Record<string, () => Promise<string>> = {
  'a sign-up': async () => {
    const email = fresh();
    await signUp(email);
    return email;
  },
  'a second sign-up': async () => {
    const email = fresh();
    await signUp(email);
    await linkTo(email);
    await signUp(email);
    await until('the second letter', () => post.letters.filter(({ to }) => to === email)[1]);
    return email;
  },
  'a sign-up of a known person': async () => {
    const { email } = await person(service);
    await signUp(email);
    return email;
  },
  'a forgotten password': async () => {
    const { email } = await person(service);
    const body = { email, redirectTo: '/reset' };
    await stranger(service).call('POST', '/api/auth/request-password-reset', body);
    return email;
  },
  'an invitation': async () => {
    const email = fresh();
    const account = await service.account({ usd: 5 });
    const owner = await person(service, { [account.account_id]: 'owner' });
    await owner.of(account.account_id).call('POST', '/invitations', { email, role: 'owner' });
    return email;
  },
  'another address': async () => {
    const email = fresh();
    const ada = await person(service);
    await ada.call('POST', '/api/me/email', { email, password });
    return email;
  },
};

const state = () =>
  service.db.run(sql`select (select json_agg(p order by id) from people p) as people,
      (select json_agg(l order by id) from logins l) as logins,
      (select json_agg(v order by id) from verifications v) as links,
      (select json_agg(m order by account_id, person_id) from members m) as members,
      (select json_agg(i order by id) from invitations i) as invitations,
      (select count(*) from sessions) as sessions`);

describe('a link in a letter', () => {
  for (const [what, write] of Object.entries(letters)) {
    test(`of ${what} changes nothing when it is opened, by whatever opens it`, async () => {
      const link = await linkTo(await write());
      const path = link.slice(originOf(service).length);
      const earlier = await state();
      const browser = await person(service);
      const signedIn = await state();
      assert.notDeepEqual(signedIn, earlier);
      for (const [method, headers] of [
        ['GET', { 'user-agent': 'SafeLinks', accept: 'text/html' }],
        ['HEAD', {}],
        ['GET', { 'sec-purpose': 'prefetch;prerender', accept: 'text/html' }],
      ] as const) {
        for (const who of [stranger(service), browser]) {
          const { status, headers: got } = await who.call(method, path, undefined, headers);
          assert.ok(status < 400 || method === 'HEAD', `${method} ${path}: ${status}`);
          assert.ok(!got.getSetCookie().some((cookie) => /session/.test(cookie)));
          const next = got.get('location');
          if (next) {
            const { pathname, search } = new URL(next, originOf(service));
            const led = await who.call(method, pathname + search, undefined, headers);
            assert.equal(led.status, 200);
          }
        }
      }
      assert.deepEqual(await state(), signedIn);
    });
  }

  const presses: Record<string, (token: string) => [path: string, body: object]> = {
    'a sign-up': (token) => ['/api/confirm', { token }],
    'another address': (token) => ['/api/email', { token }],
    'an invitation': (token) => ['/api/invitation/accept', { token }],
  };
  for (const [what, press] of Object.entries(presses)) {
    test(`of ${what} is not used by a program that presses the button of its page`, async () => {
      const [path, body] = press(tokenOf(await linkTo(await letters[what]!())));
      const earlier = await state();
      const scanner = stranger(service);
      const browser = await person(service);
      const signedIn = await state();
      assert.notDeepEqual(signedIn, earlier);
      for (const who of [scanner, browser]) {
        const { status } = await who.call('POST', path, body);
        assert.ok([400, 401, 403].includes(status), String(status));
      }
      const origin = 'https://evil.example';
      assert.equal((await scanner.call('POST', path, body, { origin })).status, 403);
      assert.deepEqual(await state(), signedIn);
    });
  }

  test('of an earlier version leads to a page that says what to do', async () => {
    const reply = await stranger(service).call(
      'GET',
      '/api/auth/verify-email?token=eyJhbGciOiJIUzI1NiJ9.e30.x&callbackURL=%2Fsign-in%3Fconfirmed%3Dyes',
    );
    assert.deepEqual([reply.status, reply.headers.get('location')], [302, '/confirm']);
    const page = await stranger(service).call('GET', '/confirm', undefined, {
      accept: 'text/html',
    });
    assert.equal(page.status, 200);
  });
});

describe('an address is confirmed', () => {
  test('in the browser that signed up, once, and it signs nobody in', async () => {
    const email = fresh();
    const ada = await signUp(email);
    const token = tokenOf(await linkTo(email));
    const done = await ada.call('POST', '/api/confirm', { token });
    assert.deepEqual([done.status, done.body], [200, { email }]);
    assert.equal(await isProven(email), true);
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
    assert.equal((await ada.call('POST', '/api/confirm', { token })).status, 400);
    assert.equal((await visitorOf(service, '', email).signIn()).status, 200);
  });

  test('with the password in any browser, and with no other one', async () => {
    const email = fresh();
    await signUp(email);
    const token = tokenOf(await linkTo(email));
    const phone = stranger(service);
    const none = await phone.call('POST', '/api/confirm', { token });
    assert.deepEqual([none.status, none.body.error.details.reason], [403, 'password_needed']);
    const wrong = await phone.call('POST', '/api/confirm', { token, password: 'guessed it is' });
    assert.deepEqual([wrong.status, wrong.body.error.details.reason], [400, 'INVALID_PASSWORD']);
    assert.equal(await isProven(email), false);
    assert.equal((await phone.call('POST', '/api/confirm', { token, password })).status, 200);
    assert.equal(await isProven(email), true);
  });

  test('with the link that a resent letter has, too', async () => {
    const email = fresh();
    const ada = await signUp(email);
    await linkTo(email);
    await ada.call('POST', '/api/auth/send-verification-email', { email });
    const sent = await until('a second letter', () => {
      const all = post.letters.filter(({ to }) => to === email);
      return all.length === 2 && all;
    });
    const token = tokenOf(sent[1]!.links[0]!);
    assert.equal((await ada.call('POST', '/api/confirm', { token })).status, 200);
  });

  test('not with the cookie of another sign-up, an earlier one, or one of a taken address', async () => {
    const email = fresh();
    const known = await person(service);
    const others = [await signUp(fresh()), await signUp(known.email)];
    const eve = await signUp(email);
    await linkTo(email);
    const ada = await signUp(email);
    await until('the second letter', () => post.letters.filter(({ to }) => to === email)[1]);
    const [{ id }] = (await service.db.run<{ id: string }>(sql`
      select id from people where email = ${email}`)) as [{ id: string }];
    const cookies = [...others, eve, ada].map((who) => who.cookies);
    assert.deepEqual(new Set(cookies.map((all) => [...all.keys()].join())).size, 1);
    // The owner asks for the letter again: the second sign-up has no password to confirm with.
    await ada.call('POST', '/api/auth/send-verification-email', { email });
    const sent = await until('the third letter', () => {
      const all = post.letters.filter(({ to }) => to === email);
      return all.length === 3 && all;
    });
    const token = tokenOf(sent[2]!.links[0]!);
    for (const who of [...others, eve, ada]) {
      const { status } = await who.call('POST', '/api/confirm', { token });
      assert.equal(status, 403, id);
    }
    assert.equal(await isProven(email), false);
  });

  test('not by guessing the password', async () => {
    const email = fresh();
    await signUp(email);
    const token = tokenOf(await linkTo(email));
    const tries = [];
    for (let n = 0; n < 21; n++) {
      const body = { token, password: `guess number ${n}` };
      tries.push((await stranger(service).call('POST', '/api/confirm', body)).status);
    }
    assert.deepEqual([tries[0], tries.at(-1)], [400, 429]);
    assert.equal(await isProven(email), false);
  });
});

describe('links to a new password', () => {
  test('of one person, opened at the same time, set one password', async () => {
    const ada = await person(service);
    for (let n = 0; n < 3; n++) {
      await stranger(service).call('POST', '/api/auth/request-password-reset', {
        email: ada.email,
        redirectTo: '/reset',
      });
    }
    const sent = await until('three letters', () => {
      const all = post.letters.filter(({ to }) => to === ada.email);
      return all.length === 3 && all;
    });
    const tokens = sent.map(({ links }) => new URL(links[0]!).pathname.split('/').at(-1)!);
    const set = (token: string, newPassword: string) =>
      stranger(service).call('POST', '/api/auth/reset-password', { token, newPassword });
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) => set(tokens[n % 3]!, `a new password ${n}`)),
    );
    const statuses = replies.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array(11).fill(400)]);
    const works = await Promise.all(
      replies.map((_, n) => {
        const body = { email: ada.email, password: `a new password ${n}` };
        return stranger(service).call('POST', '/api/auth/sign-in/email', body);
      }),
    );
    const won = replies.findIndex(({ status }) => status === 200);
    assert.deepEqual(
      works.flatMap(({ status }, n) => (status === 200 ? [n] : [])),
      [won],
    );
    for (const token of tokens) assert.equal((await set(token, 'another one')).status, 400);
  });

  test('end a link to another address, and one to another address ends them', async () => {
    const [ada, bo] = [await person(service), await person(service)];
    const ask = async (who: Person) => {
      const email = fresh();
      await who.call('POST', '/api/me/email', { email, password });
      return tokenOf(await linkTo(email));
    };
    const reset = async ({ email }: Person) => {
      const body = { email, redirectTo: '/reset' };
      await stranger(service).call('POST', '/api/auth/request-password-reset', body);
      const letter = await until('the letter', () =>
        post.letters.find(({ to, subject }) => to === email && /Reset/.test(subject)),
      );
      return new URL(letter.links[0]!).pathname.split('/').at(-1)!;
    };
    const newPassword = 'a whole new password';
    for (const [who, first] of [
      [ada, 'reset'],
      [bo, 'email'],
    ] as const) {
      const [email, token] = [await ask(who), await reset(who)];
      const calls = {
        reset: () =>
          stranger(service).call('POST', '/api/auth/reset-password', { token, newPassword }),
        email: () => who.call('POST', '/api/email', { token: email, password }),
      };
      const second = first === 'reset' ? 'email' : 'reset';
      assert.equal((await calls[first]()).status, 200);
      assert.equal((await calls[second]()).status, 400);
    }
  });
});

describe('a letter that a stranger causes', () => {
  const lettersTo = (email: string) => post.letters.filter(({ to }) => to === email);
  const inviteFrom = async (owner: Person, account_id: string, email: string) =>
    (await owner.of(account_id).call('POST', '/invitations', { email, role: 'owner' })).body;

  test('has no text of theirs', async () => {
    const lure = 'You won 500 USD: http://evil.example/pay';
    const account = await service.account({ usd: 5 });
    const owner = await person(service, { [account.account_id]: 'owner' });
    await owner.call('PATCH', '/api/me', { name: lure });
    await owner.of(account.account_id).call('PATCH', '/account', { name: `${lure} . Farebox` });
    const email = fresh();
    const { mailed } = await inviteFrom(owner, account.account_id, email);
    assert.equal(mailed, true);
    const { subject, text } = await post.letterTo(email);
    assert.equal(subject, `An invitation to ${new URL(originOf(service)).host}`);
    assert.doesNotMatch(text, /evil|won/);
    assert.match(text, new RegExp(owner.email));
  });

  test('of an unproven inviter does not name the address', async () => {
    const account = await service.account({ usd: 5 });
    const owner = await person(service, { [account.account_id]: 'owner' });
    await service.db.run(sql`update people set email_verified = false where id = ${owner.id}`);
    const email = fresh();
    await inviteFrom(owner, account.account_id, email);
    const { text } = await post.letterTo(email);
    assert.ok(text.startsWith('Somebody invites you') && !text.includes(owner.email));
  });

  test('is not sent for an account that has never paid, whose link works all the same', async () => {
    const { account_id } = await service.account({ usd: 0 });
    const owner = await person(service, { [account_id]: 'owner' });
    const email = fresh();
    const { mailed, url } = await inviteFrom(owner, account_id, email);
    assert.equal(mailed, false);
    const token = tokenOf(url);
    assert.equal((await stranger(service).call('POST', '/api/invitation', { token })).status, 200);
    assert.equal(lettersTo(email).length, 0);
  });

  test('comes three times an hour to one address, over all accounts, people and kinds', async () => {
    const email = fresh();
    await signUp(email);
    await signUp(email.toUpperCase());
    const mailed = [];
    for (let n = 0; n < 4; n++) {
      const { account_id } = await service.account({ usd: 5 });
      const owner = await person(service, { [account_id]: 'owner' });
      await until('earlier letters', () => lettersTo(email).length >= Math.min(3, n + 2));
      mailed.push((await inviteFrom(owner, account_id, email)).mailed);
      await owner.call('POST', '/api/me/email', { email, password });
    }
    await stranger(service).call('POST', '/api/auth/request-password-reset', {
      email,
      redirectTo: '/reset',
    });
    await stranger(service).call('POST', '/api/auth/send-verification-email', { email });
    assert.deepEqual(mailed, [true, false, false, false]);
    // A letter to another address comes later than any that was on its way.
    const other = fresh();
    await signUp(other);
    await linkTo(other);
    assert.equal(lettersTo(email).length, 3);
  });

  for (const [what, cause] of Object.entries({
    'another address': async (email: string) => {
      for (let n = 0; n < 4; n++)
        await (await person(service)).call('POST', '/api/me/email', { email, password });
    },
    invitations: async (email: string) => {
      for (let n = 0; n < 4; n++) {
        const { account_id } = await service.account({ usd: 5 });
        const owner = await person(service, { [account_id]: 'owner' });
        await inviteFrom(owner, account_id, email);
      }
    },
  })) {
    test(`for ${what} keeps nobody from a link to a new password`, async () => {
      const { email } = await person(service);
      await cause(email);
      await until('two letters', () => lettersTo(email).length === 2);
      const body = { email, redirectTo: '/reset' };
      await stranger(service).call('POST', '/api/auth/request-password-reset', body);
      const all = await until('the link', () => lettersTo(email).length > 2 && lettersTo(email));
      assert.deepEqual([all.length, all.at(-1)!.subject], [3, 'Reset your Farebox password']);
    });
  }

  test('to confirm an address leaves room for a way in by who owns it', async () => {
    const email = fresh();
    await signUp(email);
    for (let n = 0; n < 3; n++)
      await stranger(service).call('POST', '/api/auth/send-verification-email', { email });
    await until('two letters', () => lettersTo(email).length === 2);
    await signUp(email);
    const all = await until('the link', () => lettersTo(email).length > 2 && lettersTo(email));
    assert.deepEqual([all.length, all.at(-1)!.subject], [3, 'Set your Farebox password']);
  });

  test('counts for the mailbox, however its address is written', async () => {
    const [name, domain] = fresh().split('@');
    const spellings = ['', '+a', '+b', '+c+d'].map((tag) => `${name}${tag}@${domain}`);
    spellings.push(`${name![0]}.${name!.slice(1)}@${domain}`);
    for (const email of spellings) await signUp(email);
    const other = fresh();
    await signUp(other);
    await linkTo(other);
    assert.equal(spellings.flatMap(lettersTo).length, 2);
  });
});
