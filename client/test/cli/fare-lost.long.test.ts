/** `fare` says when money was or may have been spent, and a repeat does not spend it again. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { images, tinyPng } from '../../../server/test/kit/fake.ts';
import {
  refused as refusedBy,
  startFaulty,
  type FaultyProxy,
} from '../../../server/test/kit/faulty.ts';
import { inShort } from '../../../server/test/kit/long.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import {
  homeOf,
  onTerminal,
  program,
  refused,
  well,
  withoutTerminal,
  type Home,
} from './fare-kit.ts';

let service: Service;
let faulty: FaultyProxy;
let account: TestAccount;
let home: Home;
let env: Record<string, string>;
before(async () => {
  service = await startService({ running: true });
  faulty = await startFaulty(service.base);
});
beforeEach(async () => {
  service.fake.behave = {};
  service.fake.chats.length = 0;
  account = await service.account({ usd: 50 });
  home = homeOf(service, account.key);
  env = { FAREBOX_BASE_URL: `${faulty.base}/v1`, FAREBOX_API_KEY: account.key };
});
afterEach(() => {
  faulty.spoil = () => undefined;
  faulty.calls.length = 0;
});
after(async () => {
  await faulty.stop();
  await service.audit();
  await service.stop();
});

const cat = ['run', 'fake/image', '--prompt', 'a cat'];
const lose = (part: string) => {
  faulty.spoil = ({ path }) => (path.includes(part) ? { cutAt: 0 } : undefined);
};
const noFull = !fs.existsSync('/dev/full') && 'there is no /dev/full here';
const charged = async () => 50_000_000n - (await service.balance(account)).available;

describe('a submit whose reply never comes', () => {
  const howTo = /unknown[^]*fare resume[^]*one request/;
  const ways = [[], ['--no-wait'], ['--json']];

  test('ends with 5, and resume makes it one request, paid once', async () => {
    const homes = ways.map(() => homeOf(service, account.key));
    lose('/queue/');
    const runs = ways.map((way, at) => homes[at]!.run([...cat, ...way], { env }));
    const [bare, noWait, json] = await Promise.all(runs);
    for (const ran of [bare!, noWait!, json!]) {
      refused(ran, 5, howTo);
      assert.doesNotMatch(ran.all, /idempotencyKey/);
    }
    assert.deepEqual([bare!.stdout, noWait!.stdout], ['', '']);
    assert.equal(json!.json.error.code, 'outcome_unknown');
    faulty.spoil = () => undefined;
    const resumed = await Promise.all(homes.map((each) => each.run(['resume'], { env })));
    for (const ran of resumed) assert.match(well(ran).stdout, /^a-cat-/);
    assert.equal(well(await home.run(['list', '--json'])).lines.length, ways.length);
    assert.equal(await charged(), 10_000n * BigInt(ways.length));
  });

  test('on a terminal likewise', { skip: withoutTerminal() ?? false }, async () => {
    lose('/queue/');
    const terminal = onTerminal(home, cat, env);
    await terminal.see(howTo);
    assert.equal(await terminal.ended, 5);
    assert.doesNotMatch(terminal.shown(), /idempotencyKey/);
  });
});

describe('a run that was submitted', () => {
  test('and then cannot reach the service: exit 5, not "try again"', async () => {
    const later = refusedBy(503, 'internal_error', { 'x-should-retry': 'false' });
    faulty.spoil = ({ path }) => (path.endsWith('/response') ? later : undefined);
    const ran = refused(await home.run([...cat, '--json'], { env }), 5, /Not now.*fare resume/s);
    const { code, because, request_id } = ran.json.error;
    assert.deepEqual([code, because], ['still_running', 'internal_error']);
    faulty.spoil = () => undefined;
    assert.match(well(await home.run(['resume', request_id], { env })).stdout, /^a-cat-/);
    assert.equal(await charged(), 10_000n);
  });

  const folders = [
    ['is gone', 'out/cat.png'],
    ['is a file now', 'out/'],
  ] as const;
  for (const [how, out] of inShort(1, folders)) {
    test(`and whose folder ${how}: paid and done, and how to get it, exit 5`, async () => {
      const folder = path.join(home.dir, 'out');
      fs.mkdirSync(folder);
      service.fake.behave.poll = () => {
        fs.rmSync(folder, { recursive: true, force: true });
        if (out === 'out/') fs.writeFileSync(folder, '');
        return { state: 'done', result: images(1) };
      };
      const ran = await home.run([...cat, '--out', out, '--json']);
      refused(ran, 5, /completed and paid for \(\$0\.01\)[^]*fare resume [0-9a-f-]{36} --out PATH/);
      assert.equal(ran.json.error.code, 'not_saved');
      const saved = await home.run(['resume', ran.json.error.request_id, '--out', 'there.png']);
      assert.equal(well(saved).stdout, 'there.png\n');
      assert.deepEqual(fs.readFileSync(path.join(home.dir, 'there.png')), tinyPng);
      assert.equal(await charged(), 10_000n);
    });
  }

  test(
    'and stdout takes nothing: likewise, and another verb ends with 1',
    { skip: noFull },
    async () => {
      const ran = await toFull([...cat, '--out', '-']);
      assert.equal(ran.code, 5, ran.stderr);
      assert.match(ran.stderr, /completed and paid for[^]*ENOSPC[^]*fare resume/);
      assert.doesNotMatch(ran.stderr, /\n\s+at /);
      assert.match(well(await home.run(['resume', '--out', 'x.png'])).stdout, /^x\.png/);
      const listed = await toFull(['list']);
      assert.equal(listed.code, 1);
      assert.match(listed.stderr, /^Nothing more can be written to stdout: ENOSPC[^\n]*\n$/);
    },
  );
});

/** Runs a command whose stdout is a full disk. */
async function toFull(args: string[]) {
  const full = fs.openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [program, ...args], {
    cwd: home.dir,
    env: home.env,
    stdio: ['ignore', full, 'pipe'],
  });
  fs.closeSync(full);
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}
