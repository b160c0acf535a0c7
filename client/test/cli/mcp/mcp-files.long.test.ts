import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { tinyPng } from '../../../../server/test/kit/fake.ts';
import { inLong } from '../../../../server/test/kit/long.ts';
import {
  startService,
  type Service,
  type TestAccount,
} from '../../../../server/test/kit/service.ts';
import { image } from '../../../../server/test/storage/media-fixtures.ts';
import { commandOf, startAgent } from './mcp-kit.ts';

/** Files that an agent uploads and gets, and files that it may not read. */

let service: Service;
let account: TestAccount;
let dir: string;
before(async () => {
  service = await startService({ running: true });
  account = await service.account();
  dir = mkdtempSync(join(tmpdir(), 'farebox-roots-'));
  for (const folder of ['open', 'open/deep', 'open/.hidden', 'open-too', 'closed']) {
    mkdirSync(join(dir, folder));
    writeFileSync(join(dir, folder, 'a.png'), tinyPng);
  }
  writeFileSync(join(dir, 'open', '.env'), 'SECRET=1');
  writeFileSync(join(dir, 'open', 'broken.png'), Buffer.from([0, 1, 2, 3]));
  symlinkSync(join(dir, 'closed', 'a.png'), join(dir, 'open', 'link.png'));
  symlinkSync(join(dir, 'closed'), join(dir, 'open', 'way'));
});
after(async () => {
  rmSync(dir, { recursive: true, force: true });
  await service.stop();
});

async function files(): Promise<number> {
  const { rawSql } = await import('../../../../server/src/lib/sql/sql.ts');
  const [row] = await service.db.run<{ n: bigint }>(rawSql('select count(*) as n from files'));
  return Number(row!.n);
}

describe('an upload', () => {
  test('of a file in an allowed folder gives a file_id for an input', async () => {
    const agent = await startAgent(service, account, ['--root', join(dir, 'open')]);
    for (const path of ['a.png', 'deep/a.png', join(dir, 'open', 'a.png')]) {
      const { fields } = await agent.use('upload_file', { path });
      assert.equal(fields.content_type, 'image/png');
      assert.equal(fields.size, tinyPng.length);
      const input = { prompt: 'a cat', image_url: fields.file_id };
      await agent.use('generate', { model_id: 'fake/image', input, max_usd: 0.01 });
    }
    await agent.close();
  });

  test('of anything else is refused alike, and nothing is sent', async () => {
    const agent = await startAgent(service, account, ['--root', join(dir, 'open')]);
    const before = await files();
    const paths = [
      'none.png',
      '.env',
      '.hidden/a.png',
      'deep',
      '',
      '../closed/a.png',
      '../open-too/a.png',
      'link.png',
      'way/a.png',
      join(dir, 'closed', 'a.png'),
      '/etc/hostname',
      'a.png\0',
    ];
    const said = new Set<string>();
    for (const path of paths.filter(Boolean)) {
      const { code, message } = await agent.refused('upload_file', { path });
      assert.equal(code, 'not_allowed', path);
      said.add(message);
    }
    assert.equal(said.size, 1);
    const broken = await agent.refused('upload_file', { path: 'broken.png' });
    assert.equal(broken.code, 'unsupported_media_type');
    assert.equal(await files(), before);
    await agent.close();
  });

  inLong("may read the program's workspace folders if the person named none", async () => {
    const none = await startAgent(service, account);
    const { code, message } = await none.refused('upload_file', { path: join(dir, 'open/a.png') });
    assert.equal(code, 'not_allowed');
    assert.match(message, /--root/);
    await none.close();

    const agent = await startAgent(service, account, [], { roots: [join(dir, 'open')] });
    await agent.use('upload_file', { path: join(dir, 'open', 'a.png') });
    const path = join(dir, 'closed', 'a.png');
    assert.equal((await agent.refused('upload_file', { path })).code, 'not_allowed');
    await agent.close();
  });
});

inLong('a picture too large to show is linked, and read as a resource', async () => {
  const bytes = Buffer.concat([await image('png'), Buffer.alloc(700_000)]);
  service.fake.behave.poll = () => ({
    state: 'done',
    result: { media: [{ field: 'images', source: { bytes } }], fields: {} },
  });
  const agent = await startAgent(service, account);
  const wish = { model_id: 'fake/image', input: { prompt: 'a cat' }, max_usd: 0.01 };
  const { fields, blocks } = await agent.use('generate', wish);
  service.fake.behave = {};
  assert.deepEqual(
    blocks.map(({ type }) => type),
    ['resource_link'],
  );
  const { contents } = await agent.client.readResource({ uri: fields.outputs[0].uri });
  assert.ok('blob' in contents[0]! && Buffer.from(contents[0].blob, 'base64').equals(bytes));
  await assert.rejects(
    agent.client.readResource({ uri: fields.outputs[0].uri.replace(/0$/, '7') }),
    /counted from 0/,
  );
  await agent.close();
});

test('standard output carries the protocol and nothing else, and the end of input is the end', async () => {
  const { command, args, env } = commandOf(service, account.key, []);
  const child = spawn(command, args, { env, stdio: 'pipe' });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const clientInfo = { name: 'raw', version: '1' };
  const lines = [
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'get_balance', arguments: {} } },
  ];
  const answered = new Promise<void>((resolve) => {
    child.stdout.on('data', () => out.includes('"id":2') && resolve());
  });
  for (const line of lines) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`);
  child.stdin.write('this is no protocol\n');
  await answered;
  child.stdin.end();
  assert.equal(await ended, 0, err);
  const said = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.ok(said.every(({ jsonrpc }) => jsonrpc === '2.0'));
  assert.ok(!(out + err).includes(account.key));
  assert.match(err, /may spend \$1\.00/);
});
