/** Small slips on the command line: mended, or refused in words that say what to do. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { newId } from '../../../server/src/lib/id.ts';
import { tinyPng } from '../../../server/test/kit/fake.ts';
import { withService } from '../../../server/test/kit/with-service.ts';
import { traces } from '../../../server/test/kit/traces.ts';
import { words } from './fare-chat-kit.ts';
import { catalog, homeOf, program, refused, well, type Home } from './fare-kit.ts';

let home: Home;
const { service, account } = withService({ running: true, catalog, account: { usd: 50 } });
beforeEach(() => {
  service.fake.behave = { chat: () => ({ outcome: 'stream', chunks: words('Hello') }) };
  home = homeOf(service, account.key);
});

const cat = ['run', 'fake/image', '--prompt', 'a cat'];

test('a number of a call is shown and searched, and quoted by an error of the service', async () => {
  const headers = { 'x-request-id': 'order-1042' };
  const call = { key: account.key, body: { prompt: 'a cat' }, headers };
  const sent = await service.call('POST', '/v1/queue/fake/image', call);
  const { request_id } = sent.body;
  const number = sent.headers.get('x-request-id')!;
  const shown = well(await home.run(['status', request_id])).stdout;
  assert.match(shown, new RegExp(`call\\t${number}`));
  assert.match(shown, /your number\torder-1042/);
  for (const each of [number, 'order-1042']) {
    const { lines } = well(await home.run(['list', '--call-id', each, '--json']));
    assert.deepEqual(
      lines.map((line) => line.request_id),
      [request_id],
    );
  }
  assert.equal(well(await home.run(['list', '--call-id', 'none', '--json'])).stdout, '');

  service.fake.behave.chat = () => ({ outcome: 'unknown', message: 'it broke' });
  refused(await home.run(['chat', 'fake/chat', 'hello']), 6, /quote req_[0-9a-f]{32}\./);
  const { json } = await home.run(['status', newId(), '--json']);
  assert.match(json.error.call_id, /^req_[0-9a-f]{32}$/);
  const poor = homeOf(service, (await service.account({ usd: 0 })).key);
  const { stderr } = await poor.run(['chat', 'fake/chat', 'hello']);
  assert.doesNotMatch(stderr, /quote req_/, 'the caller can mend it');
});

describe('an address', () => {
  test('of a call below /v1 is mended', async () => {
    for (const rest of ['/v1/models', '/v1/chat/completions', '/v1/v1', '/v1//', '?x=1'])
      well(
        await home.run(['balance'], {
          env: { FAREBOX_BASE_URL: `${service.base}${rest}`, FAREBOX_API_KEY: account.key },
        }),
      );
  });

  test('of another protocol is refused', async () => {
    for (const FAREBOX_BASE_URL of ['ftp://x', 'ws://x:1/v1', 'http:/x', 'file:///etc', 'mailto:x'])
      refused(
        await home.run(['balance'], { env: { FAREBOX_BASE_URL } }),
        2,
        /must begin with http:\/\/ or https:\/\//,
      );
  });

  test('with a password is refused for it, and the password is not repeated', async () => {
    for (const user of ['me:hidden-word', 'hidden-word', ':hidden-word'])
      for (const scheme of ['https://', 'http://', '']) {
        const env = { FAREBOX_BASE_URL: `${scheme}${user}@one.example/v1` };
        const ran = await home.run(['balance'], { env });
        refused(ran, 2, /must not contain a user name or password/);
        assert.doesNotMatch(ran.stderr, /hidden-word/);
      }
  });

  test('that is not the API is named as the user knows it', async () => {
    const env = { FAREBOX_BASE_URL: `${service.base}/docs`, FAREBOX_API_KEY: account.key };
    refused(
      await home.run(['balance'], { env }),
      6,
      /Check FAREBOX_BASE_URL: it should end in \/v1/,
    );
    const saved = JSON.parse(fs.readFileSync(home.settingsFile, 'utf8'));
    fs.writeFileSync(
      home.settingsFile,
      JSON.stringify({ ...saved, base_url: env.FAREBOX_BASE_URL }),
    );
    refused(await home.run(['balance']), 6, /Check the saved address: it should end in \/v1/);
  });
});

test('a key that no header can hold is refused like other wrong keys', async () => {
  for (const odd of ['fbx_a\nb', 'fbx_é', 'fbx a', 'Bearer fbx_a']) {
    const ran = await home.run(['balance'], { env: { FAREBOX_API_KEY: odd } });
    refused(ran, 3, /characters that no key has[^]*FAREBOX_API_KEY/);
  }
  const saved = JSON.parse(fs.readFileSync(home.settingsFile, 'utf8'));
  fs.writeFileSync(home.settingsFile, JSON.stringify({ ...saved, api_key: 'fbx_a\u0001' }));
  refused(await home.run(['balance']), 3, /characters that no key has[^]*settings\.json/);
});

describe('a hint', () => {
  test('for a request that has ended does not say to wait for its end', async () => {
    const ran = well(await home.run([...cat, '--no-save', '--json']));
    const id = ran.json.request_id;
    refused(await home.run(['cancel', id]), 1, new RegExp(`It has ended: .fare status ${id}`));
    service.fake.behave.poll = () => ({ state: 'failed', code: 'upstream_failed', message: 'No.' });
    const failed = (await home.run([...cat, '--json'])).json.error.request_id;
    for (const verb of ['result', 'download', 'cancel'])
      refused(
        await home.run([verb, failed]),
        1,
        new RegExp(`It has ended: .fare status ${failed}`),
      );
  });

  test('names a field as the command line does', async () => {
    const missing = refused(
      await home.run(['run', 'fake/image', 'num_images=1']),
      2,
      /prompt is required/,
    );
    assert.doesNotMatch(missing.stderr, /\/prompt/);
    const wrong = ['run', 'fake/image', 'prompt=[1]', 'image_url={"a":1}'];
    const ran = refused(await home.run(wrong), 2, /image_url[^]*`fare model fake\/image` shows/);
    assert.doesNotMatch(ran.stderr, /\/(prompt|image_url)/);
  });

  test('for an unknown option shows the input that was meant', async () => {
    const slips: [string[], RegExp][] = [
      [['--seed', '7'], /Inputs are key=value: seed=7\n/],
      [['--num-images=2'], /Inputs are key=value: num_images=2\n/],
      [['--negative', 'no dogs'], /Inputs are key=value: negative="no dogs"\n/],
      [['--raw'], /Inputs are key=value: raw=VALUE\n/],
    ];
    for (const [args, says] of slips) {
      const ran = refused(await home.run([...cat, ...args]), 2, says);
      assert.doesNotMatch(ran.stderr, /Did you mean/);
      refused(await home.run(['price', 'fake/image', ...args]), 2, says);
    }
  });
});

test('choices may be written in any case', async () => {
  well(await home.run([...cat, '--no-save']));
  for (const status of ['completed', 'COMPLETED', 'Completed'])
    assert.match(well(await home.run(['list', '--status', status])).stdout, /COMPLETED/);
  assert.equal(well(await home.run(['list', '--status', 'in-progress'])).stdout, '');
  assert.match(well(await home.run(['models', '--kind', 'IMAGE'])).stdout, /fake\/image/);
  refused(await home.run(['list', '--status', 'done']), 2, /Allowed choices are IN_QUEUE/);
});

test('a list without a match is no failure', async () => {
  for (const args of [
    ['models', 'zzz'],
    ['list', '--model', 'fake/dear'],
  ]) {
    const ran = well(await home.run(args));
    assert.equal(ran.stdout, '');
    assert.match(ran.stderr, /No model matches|No requests found/);
    assert.equal(well(await home.run([...args, '--json'])).stdout, '');
  }
});

test('an amount may be written as prices are printed', async () => {
  well(await home.run([...cat, '--no-save', '--max-usd', '$0.50']));
  refused(await home.run([...cat, '--max-usd', '$0.001']), 4, /more than --max-usd allows/);
  for (const odd of ['$', '0,5', '$$1', '1 USD'])
    refused(await home.run([...cat, '--max-usd', odd]), 2, /amount in USD/);
});

describe('stdin', () => {
  test('is uploaded by fare upload -', async () => {
    const id = well(await home.run(['upload', '-'], { stdin: tinyPng })).stdout.trim();
    assert.match(id, /^file_[0-9a-f]{32}$/);
    refused(await home.run(['upload', '-']), 2, /empty/);
  });

  /** As in a shell: `text | fare …`. */
  async function piped(text: string, args: string[]) {
    const call = [process.execPath, program, ...args].map((each) => `'${each}'`).join(' ');
    const shell = spawn('sh', ['-c', `printf '%s' '${text}' | ${call}`], {
      cwd: home.dir,
      env: home.env,
    });
    let stderr = '';
    shell.stderr.on('data', (part: Buffer) => (stderr += String(part)));
    const [code] = await once(shell, 'close');
    return { code, stderr };
  }

  test('that is not read is said', async () => {
    const chat = await piped('hi', ['chat', 'fake/chat', 'Explain:']);
    assert.equal(chat.code, 0, chat.stderr);
    assert.match(chat.stderr, /stdin is not read: put "-" after the message/);
    const ran = await piped('hi', [...cat, '--no-save']);
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stderr, /stdin is not read/);
  });

  test('that is read is not said to be unread', async () => {
    const chat = await piped('hi', ['chat', 'fake/chat', 'Explain:', '-']);
    assert.equal(chat.code, 0, chat.stderr);
    assert.doesNotMatch(chat.stderr, /stdin/);
    const ran = await piped('hi', ['run', 'fake/image', '--prompt', '-', '--no-save']);
    assert.equal(ran.code, 0, ran.stderr);
    assert.doesNotMatch(ran.stderr, /stdin/);
    const quiet = await piped('hi', ['chat', 'fake/chat', 'Explain:', '-q']);
    assert.equal(quiet.stderr, '');
  });
});

test('nothing refused here has left anything', async () => {
  const before = await traces(service);
  refused(await home.run([...cat, '--max-usd', '$0.001']), 4, /allows/);
  refused(await home.run([...cat, '--seed', '7']), 2, /seed=7/);
  assert.deepEqual(await traces(service), before);
  assert.deepEqual(fs.readdirSync(path.join(home.dir)), []);
});
