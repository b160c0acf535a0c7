/** Strangers cannot block a person's sign-in in a browser in which the person signed in before. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Service } from '../../kit/service.ts';
import {
  newAddress,
  password,
  person,
  startWebService,
  stranger,
  visitorOf,
  type Person,
} from '../../kit/web.ts';

let service: Service;
before(async () => {
  service = await startWebService();
});
after(() => service.stop());

const tryWith = (who: Person, email: string, given = 'a wrong password') =>
  who.call(
    'POST',
    '/api/auth/sign-in/email',
    { email, password: given },
    { 'x-forwarded-for': newAddress() },
  );

/** Tries wrong passwords from many addresses until the e-mail address is blocked. */
async function lockOut(email: string): Promise<void> {
  for (let i = 0; i < 21; i++) await tryWith(stranger(service), email);
  assert.equal((await tryWith(visitorOf(service, '', email), email, password)).status, 429);
}

describe('while strangers try passwords', () => {
  test('a browser that signed in before signs in, and a new one waits', async () => {
    const ada = await person(service);
    for (const name of ada.cookies.keys()) if (!name.endsWith('.device')) ada.cookies.delete(name);
    assert.equal(ada.cookies.size, 1);
    assert.equal((await ada.call('GET', '/api/me')).status, 401, 'it opens nothing by itself');
    await lockOut(ada.email);
    assert.equal((await tryWith(ada, ada.email, password)).status, 200);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
  });

  test('a mark that is unsigned, or signed for another address or with another secret, does not help', async () => {
    const ada = await person(service);
    const eve = await person(service);
    await lockOut(ada.email);
    const [name, ofAda] = [...ada.cookies].find(([key]) => key.endsWith('.device'))!;
    const ofEve = eve.cookies.get(name)!;
    const [id, sig] = ofAda.split('.') as [string, string];
    const forged = [ofEve, `${id}.${ofEve.split('.')[1]}`, `${ofEve.split('.')[0]}.${sig}`, id, ''];
    for (const value of forged) {
      const thief = visitorOf(service, '', ada.email);
      thief.cookies.set(name, value);
      assert.equal((await tryWith(thief, ada.email, password)).status, 429, value);
    }
  });

  test('that browser guesses no more often than others', async () => {
    const ada = await person(service);
    const statuses = [];
    for (let i = 0; i < 21; i++) statuses.push((await tryWith(ada, ada.email)).status);
    assert.deepEqual(statuses, [...Array.from({ length: 20 }, () => 401), 429]);
  });
});

test("replies to the pages' calls have nosniff", async () => {
  const ada = await person(service);
  for (const path of ['/api/web', '/api/me']) {
    const { headers } = await ada.call('GET', path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
  }
});

test('signing up takes an invitation unless the operator says otherwise', async () => {
  const usual = { ...service, app: (await service.another({ FAREBOX_SIGN_UP: '' })).app };
  const form = { name: 'Ada', email: 'ada@example.com', password };
  const { status, body } = await stranger(usual).call('POST', '/api/sign-up', form);
  assert.equal(status, 403);
  assert.match(body.error.message, /needs an invitation/);
});
