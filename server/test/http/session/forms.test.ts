/** The pages' calls read filters and ids as strictly, and as kindly, as those of the API. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../../../src/http/schemas/schema.ts';
import { webRoutes } from '../../../src/http/session/routes.ts';
import { before, person, withWebService, type Person } from '../../kit/web.ts';

let owner: Person;
let request_id: string;
const { service, account } = withWebService();
before(async () => {
  owner = await person(service, { [account.account_id]: 'owner' });
  const reply = await account.post('/v1/queue/fake/image', { prompt: 'a cat' });
  ({ request_id } = reply.body);
  await service.work();
  await service.wakeAll();
  await service.work();
});
const call = (method: string, path: string, body?: unknown) =>
  owner.of(account.account_id).call(method, path, body);

const isOpen = ({ additionalProperties }: Schema) => additionalProperties !== false;

test('every query of a page is a form: unknown fields are refused', () => {
  const open = webRoutes
    .filter(({ path, who }) => who === 'session' && path.startsWith('/api/accounts/'))
    .filter(({ path }) => !path.includes('/v1/'))
    .filter(({ shapes: { query } }) => query && isOpen(query))
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(open, []);
});

for (const path of ['/keys', '/spend', '/deliveries', '/statement', '/statement/lines'])
  test(`GET ${path} refuses a filter that it does not know, and names it`, async () => {
    const reply = await call('GET', `${path}?kindd=reserve`);
    assert.equal(reply.status, 400, JSON.stringify(reply.body));
    assert.match(JSON.stringify(reply.body), /kindd/);
  });

/** Calls about a request, each with the error of its kind if the request were unknown. */
const ofRequest = [
  ['GET', ''],
  ['PUT', '/favorite'],
  ['DELETE', '/favorite'],
  ['GET', '/deliveries'],
];
for (const [method, path] of ofRequest)
  test(`${method} /requests/ID${path} takes an id in upper case`, async () => {
    const at = (id: string) => `/requests/${id}${path}`;
    assert.equal((await call(method!, at(request_id.toUpperCase()))).status, 200);
    assert.equal((await call(method!, at(`${request_id}0`))).status, 404);
  });

test('an invitation and a person are found by ids in upper case', async () => {
  const invited = await call('POST', '/invitations', { email: 'a@b.example', role: 'billing' });
  const { invitation_id } = invited.body;
  const gone = await call('DELETE', `/invitations/${invitation_id.toUpperCase()}`);
  assert.deepEqual([gone.status, gone.body], [200, { invitation_id }]);
  const other = await person(service, { [account.account_id]: 'billing' });
  const changed = await call('PATCH', `/members/${other.id.toUpperCase()}`, { role: 'developer' });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
});
