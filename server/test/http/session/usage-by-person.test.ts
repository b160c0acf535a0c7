/** Requests of people who are signed in, and of programs with keys, summed up by person. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../src/lib/sql/sql.ts';
import { before, person, withWebService, type Person } from '../../kit/web.ts';

const { service, account } = withWebService({ account: { usd: 10 } });
let [ann, bob]: Person[] = [];
before(async () => {
  const { account_id, key } = account;
  ann = await person(service, { [account_id]: 'owner' });
  bob = await person(service, { [account_id]: 'developer' });
  const image = { prompt: 'a cat' };
  await ofThis(ann).call('POST', '/v1/queue/fake/image', image);
  await ofThis(ann).call('POST', '/v1/queue/fake/image', image);
  await ofThis(bob).call('POST', '/v1/queue/fake/image', image);
  const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'x' }], max_tokens: 5 };
  const said = await ofThis(bob).call('POST', '/v1/chat/completions', chat);
  assert.equal(said.status, 200, said.text);
  await service.call('POST', '/v1/queue/fake/image', { key, body: image });
  await service.work();
});

const ofThis = (who: Person | undefined) => who!.of(account.account_id);

const usage = async (query: string) => {
  const { status, body, text } = await ofThis(bob).call('GET', `/v1/usage?${query}`);
  assert.equal(status, 200, text);
  return body.data as { person_id: string | null; model_id: string | null; requests: number }[];
};

test('each person has what they made in the studio, programs have a line of their own', async () => {
  const lines = await usage('by=person');
  const counts = new Map(lines.map(({ person_id, requests }) => [person_id, requests]));
  assert.deepEqual(
    counts,
    new Map<string | null, number>([
      [null, 1],
      ...[ann!, bob!].map(({ id }): [string, number] => [id, 2]).toSorted(),
    ]),
  );
  const reply = await service.call('GET', '/v1/usage?by=person', { key: account.key });
  assert.deepEqual(reply.body.data, lines, 'a program reads the same');
});

test('by person and model, and nobody by another group', async () => {
  const lines = await usage('by=model,person');
  const those = lines.filter(({ person_id }) => person_id === bob!.id);
  assert.deepEqual(
    those.map(({ model_id, requests }) => [model_id, requests]),
    [
      ['fake/chat', 1],
      ['fake/image', 1],
    ],
  );
  for (const { person_id } of await usage('by=model')) assert.equal(person_id, null);
  const { body } = await ofThis(bob).call('GET', '/v1/usage?by=people');
  assert.equal(body.error.code, 'bad_request');
});

test('the list has only the requests of one person, in pages and states, too', async () => {
  const list = async (query: string) =>
    (await ofThis(ann).call('GET', `/requests?${query}`)).body.data as any[];
  const hers = await list(`person_id=${ann!.id}`);
  assert.deepEqual(
    hers.map(({ person_id }) => person_id),
    [ann!.id, ann!.id],
  );
  assert.equal((await list(`person_id=${ann!.id}&status=FAILED`)).length, 0);
  assert.equal((await list(`person_id=${bob!.id}&model_id=fake/chat`)).length, 1);
  assert.equal((await list('')).length, 5);
  const outside = await person(service);
  assert.deepEqual(await list(`person_id=${outside.id}`), []);
  const { status } = await ofThis(ann).call('GET', '/requests?person_id=ann');
  assert.equal(status, 400);
});

test('a list of another account has none of them', async () => {
  const other = await service.account();
  const person_id = ann!.id;
  const { body } = await service.call('GET', `/v1/requests?person_id=${person_id}`, other);
  assert.deepEqual(body.data, []);
  const own = await service.call('GET', `/v1/requests?person_id=${person_id}`, account);
  assert.equal(own.body.data.length, 2);
});

test('the pages know the names of the people, and what a removed one made stays', async () => {
  const choices = async () => (await ofThis(ann).call('GET', '/requests/choices')).body.people;
  const ids = async () =>
    (await choices()).map(({ person_id }: { person_id: string }) => person_id);
  assert.deepEqual((await ids()).toSorted(), [ann!.id, bob!.id].toSorted());
  assert.deepEqual(Object.keys((await choices())[0]).toSorted(), ['email', 'name', 'person_id']);
  await ofThis(ann).call('DELETE', `/members/${bob!.id}`);
  await service.db.run(sql`delete from people where id = ${bob!.id}`);
  assert.deepEqual(await ids(), [ann!.id]);
  const { body } = await ofThis(ann).call('GET', `/v1/usage?by=person`);
  assert.equal(body.data.length, 3);
});
