/** Makes the calls of docs/api/operator*.md as a reader does: one after the other, in one shell. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { operatorKey } from '../http/operator/world.ts';
import { operatorPages } from '../kit/api-pages.ts';
import { person } from '../kit/web.ts';
import { missing, openWorld, type World } from './example-kit.ts';

const blocks = [...operatorPages.join('\n').matchAll(/^```sh\n([^]*?)^```$/gm)]
  .map(([, text]) => text!)
  // Another test runs the command.
  .filter((text) => !/^farebox /m.test(text));
const calls = blocks.join('').match(/^curl /gm)!.length;

/** Prints the status beside each reply. */
const around = `
curl() { command curl -w '%{stderr}%{http_code} %{url_effective}\\n' "$@"; }
`;

let world: World;
before(async () => void (world = await openWorld()));
after(() => world.stop());

async function charged(): Promise<string> {
  const { key } = world.account;
  const body = { prompt: 'A lighthouse at dusk' };
  const path = '/v1/queue/sandbox/canvas/text-to-image';
  const { request_id } = (await world.service.call('POST', path, { key, body })).body;
  const wait = `/v1/requests/${request_id}/status?wait=60&until=final`;
  assert.equal((await world.service.call('GET', wait, { key })).body.status, 'COMPLETED');
  return request_id;
}

const skip = missing('curl', '--version');
test('each call finds what it needs, and succeeds', { skip }, async () => {
  const { key } = await operatorKey(world.service);
  const script = blocks
    .join('\n')
    .replaceAll('http://localhost:8080', world.service.base)
    .replace('fbo_...', key)
    // The page has removed the first person by then.
    .replace('people/$PERSON_ID/erase', 'people/$ERASED_ID/erase');
  const { code, stderr } = await world.run('sh', ['-euc', around + script], {
    REQUEST_ID: await charged(),
    PERSON_ID: (await person(world.service)).id,
    ERASED_ID: (await person(world.service)).id,
  });
  assert.equal(code, 0, stderr);
  const ends = stderr.trimEnd().split('\n');
  assert.equal(ends.length, calls, stderr);
  // Its request has ended by then.
  for (const end of ends) assert.match(end, end.endsWith('/cancel') ? /^409 / : /^20[01] /);
});
