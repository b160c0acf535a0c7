/** Makes the calls of docs/api/ as a reader does: one after the other, in one shell. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { apiPages } from '../kit/api-pages.ts';
import { createKey } from '../kit/keys.ts';
import { missing, openWorld, type World } from './example-kit.ts';

const blocks = [...apiPages.join('\n').matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text]) => text!);
const calls = blocks.join('').match(/^curl /gm)!.length;

/** Calls that are refused on the page, because its request has ended by then. */
const refused = /\/v1\/requests\/[^/]+\/cancel$/;

/** Prints the status beside each reply. Another test installs the client. */
const around = `
curl() { command curl -w '%{stderr}%{http_code} %{url_effective}\\n' "$@"; }
npm() { test "$*" = 'install ./farebox-client.tgz'; }
`;

let world: World;
before(async () => void (world = await openWorld()));
after(() => world.stop());

const skip = missing('curl', '--version');
test('each call finds what it needs, and succeeds', { skip }, async () => {
  const script = [`FAREBOX_MANAGING_KEY=${await managingKey()}`, ...blocks]
    .join('\n')
    .replaceAll('http://localhost:8080', world.service.base)
    .replace('fbx_...', world.account.key);
  const { code, stderr } = await world.run('sh', ['-euc', around + script]);
  assert.equal(code, 0, stderr);
  const ends = stderr.trimEnd().split('\n');
  assert.equal(ends.length, calls, stderr);
  for (const end of ends) assert.match(end, refused.test(end) ? /^409 / : /^20\d /);
  const [made, fetched] = ['lighthouse.png', 'uploaded.png'].map((name) =>
    readFileSync(join(world.dir, name)),
  );
  assert.equal(made!.toString('latin1', 1, 4), 'PNG');
  assert.deepEqual(fetched, made);
});

async function managingKey(): Promise<string> {
  const { service, account } = world;
  const { account_id } = account;
  return (await createKey(service.db, { account_id, name: 'platform', scope: 'keys' })).key;
}
