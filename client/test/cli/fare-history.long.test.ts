/** The verbs on requests, models and files: their output for people, pipes and programs. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { images, tinyPng } from '../../../server/test/kit/fake.ts';
import { inLong } from '../../../server/test/kit/long.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { homeOf, program, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
/** Requests, newest first: a waiting, a failed and a completed one. */
let ids: { waiting: string; failed: string; completed: string };
before(async () => {
  service = await startService();
  account = await service.account({ usd: 50 });
  const completed = await submit('a cat on a mat');
  service.fake.behave.poll = () => ({ state: 'done', result: images(2) });
  await service.work();
  const failed = await submit('a dog');
  service.fake.behave.poll = () => ({ state: 'failed', code: 'upstream_failed', message: 'No.' });
  await service.work();
  ids = { completed, failed, waiting: await submit('a bird') };
});
beforeEach(() => (home = homeOf(service, account.key)));
after(async () => {
  await service.audit();
  await service.stop();
});

async function submit(prompt: string): Promise<string> {
  const call = { key: account.key, body: { prompt, num_images: 2 } };
  return (await service.call('POST', '/v1/queue/fake/image', call)).body.request_id;
}

const nobody = '0199c0de-1234-7abc-8def-0123456789ab';

describe('fare status', () => {
  test('of each state, with money and reason; it ends with 0 whatever the state', async () => {
    const { json } = well(await home.run(['status', ids.waiting, '--json']));
    const { status, queue_position, quoted_usd_micro, charged_usd_micro } = json;
    assert.deepEqual(
      [status, typeof queue_position, quoted_usd_micro, charged_usd_micro],
      ['IN_QUEUE', 'number', '20000', null],
    );
    const failed = well(await home.run(['status', ids.failed])).stdout;
    assert.match(failed, /^status\tFAILED\nerror\t.*\(upstream_failed\)\n.*\ncharged\t\$0\.00$/m);
    assert.match(
      well(await home.run(['status', ids.completed])).stdout,
      /^outputs\t2, kept until/m,
    );
  });

  inLong('of an invalid and of an unknown id: different errors', async () => {
    refused(await home.run(['status', 'x']), 2, /"x" is not a request id[^]*fare list/);
    refused(await home.run(['status', 'last']), 2, /Nothing was run on this computer/);
    refused(await home.run(['status', nobody]), 1, /Nothing with this id/);
  });
});

test('fare wait ends with 0 for a completed request, else with 1', async () => {
  assert.equal(well(await home.run(['wait', ids.completed])).stdout, 'COMPLETED\n');
  assert.equal(well(await home.run(['wait', ids.completed, '--json'])).json.status, 'COMPLETED');
  const { json } = refused(
    await home.run(['wait', ids.failed, '--json']),
    1,
    /Nothing was charged/,
  );
  assert.equal(json.error.code, 'upstream_failed');
});

test('fare cancel cancels waiting requests, and says that it cannot cancel others', async () => {
  const id = await submit('a fish');
  assert.deepEqual(well(await home.run(['cancel', id, '--json'])).json, {
    request_id: id,
    status: 'CANCELLED',
  });
  const { json } = refused(await home.run(['cancel', ids.completed, '--json']), 1, /IN_QUEUE/);
  assert.equal(json.error.code, 'not_cancellable');
  refused(await home.run(['wait', id]), 1, /was cancelled\. Nothing was charged/);
});

inLong('fare result prints the output as JSON, and says when there is none yet', async () => {
  assert.equal(well(await home.run(['result', ids.completed])).json.images.length, 2);
  refused(await home.run(['result', ids.waiting]), 1, /still in the queue[^]*fare wait/);
});

test('fare list: separated by tabs in a pipe, JSON a line, filtered, no more than asked', async () => {
  const rows = well(await home.run(['list', '--status', 'FAILED'])).stdout.split('\n');
  assert.match(
    rows[0]!,
    new RegExp(`^${ids.failed}\tFAILED upstream_failed\t\\$0\\.00\t20.*Z\tfake/image$`),
  );
  const { lines } = well(await home.run(['list', '--json', '-n', '2', '--model', 'fake/image']));
  assert.equal(lines.length, 2);
  assert.equal(typeof lines[0].quoted_usd_micro, 'string');
  refused(await home.run(['list', '--status', 'DONE']), 2, /Allowed choices are IN_QUEUE/);
  refused(await home.run(['list', '-n', '0']), 2, /integer above 0/);
  const none = well(await home.run(['list', '--status', 'IN_PROGRESS']));
  assert.equal(none.stdout, '');
});

test('fare run keeps metadata with a request, and fare list finds it', async () => {
  const pairs = ['--metadata', 'customer=42', '--metadata', 'note=a=b c'];
  const { json } = well(
    await home.run(['run', 'fake/image', '--prompt', 'x', '--no-wait', '--json', ...pairs]),
  );
  const shown = well(await home.run(['status', json.request_id])).stdout;
  assert.match(shown, /^metadata\.customer\t42$/m);
  assert.match(shown, /^metadata\.note\ta=b c$/m);
  const { lines } = well(await home.run(['list', '--json', ...pairs]));
  assert.deepEqual(
    lines.map(({ request_id, metadata }) => [request_id, metadata]),
    [[json.request_id, { customer: '42', note: 'a=b c' }]],
  );
  assert.equal(well(await home.run(['list', '--metadata', 'customer=4'])).stdout, '');
  for (const verb of [['list'], ['run', 'fake/image', '--prompt', 'x']])
    refused(await home.run([...verb, '--metadata', '=42']), 2, /name=value/);
});

test('names of metadata stay on one line, without control sequences', async () => {
  const metadata = { 'a\nstatus\tCOMPLETED\u001b]0;x\u0007\u202eb': 'c\r\nd\u001b[2J' };
  const headers = { 'x-metadata': JSON.stringify(metadata).replace('\u202e', '\\u202e') };
  const call = { key: account.key, body: { prompt: 'x' }, headers };
  const { request_id } = (await service.call('POST', '/v1/queue/fake/image', call)).body;
  const shown = well(await home.run(['status', request_id])).stdout;
  assert.match(shown, /^metadata\.a status COMPLETED\]0;xb\tc d\[2J$/m);
  assert.doesNotMatch(shown, /(?![\t\n])\p{Cc}|\u202E/u);
  assert.equal(shown.split('\n').filter((line) => line.startsWith('status\t')).length, 1);
});

describe('fare download', () => {
  test('saves all outputs under names of their own, and never twice over one', async () => {
    const paths = well(await home.run(['download', ids.completed]))
      .stdout.trim()
      .split('\n');
    const end = ids.completed.slice(-6);
    assert.deepEqual(paths, [`a-cat-on-a-mat-${end}-1.png`, `a-cat-on-a-mat-${end}-2.png`]);
    const { files } = well(await home.run(['download', ids.completed, '--json'])).json;
    assert.equal(path.basename(files[0].path), `a-cat-on-a-mat-${end}-1_2.png`);
    for (const name of fs.readdirSync(home.dir))
      assert.deepEqual(fs.readFileSync(path.join(home.dir, name)), tinyPng, name);
    refused(
      await home.run(['download', ids.completed, '-o', '-']),
      2,
      /2 outputs, but stdout takes only one/,
    );
    refused(await home.run(['download', ids.waiting]), 1, /still in the queue/);
  });

  test('a service that would choose the file gets a name of ours, in the folder', async (t) => {
    const media = { url: '/v1/x', content_type: 'text/x-settings', file_name: 'x.npmrc' };
    const card = { request_id: 'xy/../', model_id: 'a/b', input: { prompt: 'a cat' } };
    const replies: Record<string, object | string> = {
      [`/v1/requests/${nobody}`]: { ...card, output_urls: [media.url] },
      [`/v1/requests/${nobody}/response`]: { images: [media] },
      '/v1/x': 'registry=https://elsewhere.example.com/',
    };
    const other = createServer(({ url }, res) => {
      const reply = replies[url!]!;
      const isText = typeof reply === 'string';
      res.setHeader('content-type', isText ? media.content_type : 'application/json');
      res.end(isText ? reply : JSON.stringify(reply));
    });
    await new Promise<void>((go) => other.listen(0, '127.0.0.1', go));
    t.after(() => other.close());
    const { port } = other.address() as AddressInfo;
    const env = { FAREBOX_BASE_URL: `http://127.0.0.1:${port}/v1`, FAREBOX_API_KEY: 'fbx_x' };
    assert.equal(well(await home.run(['download', nobody], { env })).stdout, 'a-cat-output.bin\n');
    assert.deepEqual(fs.readdirSync(home.dir), ['a-cat-output.bin']);
  });
});

describe('completions', () => {
  const bash = spawnSync('bash', ['--version']).error ? 'there is no bash here' : false;

  /** COMPREPLY after this, in a bash that has the script. */
  async function inBash(does: string): Promise<string> {
    const fare = path.join(home.dir, 'fare');
    fs.writeFileSync(fare, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
      mode: 0o755,
    });
    // The service lives in this process, which therefore must not wait for the shell.
    const { stdout } = await promisify(execFile)(
      'bash',
      ['--norc', '-c', `eval "$(fare completions bash)"; ${does}; echo "\${COMPREPLY[@]}"`],
      { env: { ...home.env, PATH: `${home.dir}:${home.env.PATH}` } },
    );
    return stdout;
  }

  inLong('a real bash completes with its script', { skip: bash }, async () => {
    const said = await inBash('COMP_WORDS=(fare run fake/f); COMP_CWORD=2; _fare');
    assert.equal(said, 'fake/film/text-to-video\n');
  });

  test('names from the service run no code in a shell and are never inserted unquoted', async (t) => {
    const trap = path.join(home.dir, 'trap');
    const ids = ['a/good', `a/$(touch ${trap})b`, `a/\`touch ${trap}\``, 'a/*', "a/it's", 'a/b c'];
    const other = createServer((_req, res) => {
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ data: ids.map((id) => ({ id })) }));
    });
    await new Promise<void>((go) => other.listen(0, '127.0.0.1', go));
    t.after(() => other.close());
    const { port } = other.address() as AddressInfo;
    const env = { FAREBOX_BASE_URL: `http://127.0.0.1:${port}/v1` };
    const told = well(await home.start(['__complete', 'run', '']).ended);
    assert.ok(told.stdout.includes('fake/image'));
    assert.equal(
      well(await home.start(['__complete', 'run', ''], { env }).ended).stdout,
      'a/good\n',
    );

    if (bash !== false) return;
    // The script itself must also be safe, whatever the program prints.
    const words = path.join(home.dir, 'words');
    fs.writeFileSync(words, `${ids.join('\n')}\n`);
    const said = await inBash(
      `fare() { cat '${words}'; }; cd /; COMP_WORDS=(fare run ""); COMP_CWORD=2; _fare; eval "printf '%s\\n' \${COMPREPLY[*]}"; COMPREPLY=()`,
    );
    assert.equal(said, `${ids.join('\n')}\n\n`);
    assert.ok(!fs.existsSync(trap), 'a name of the service was run');
  });
});

describe('fare usage', () => {
  const metadata = ['--metadata', 'customer=4\t2'];
  before(async () => {
    account = await service.account({ usd: 50 });
    home = homeOf(service, account.key);
    service.fake.behave.poll = () => ({ state: 'done', result: images(2) });
    const run = ['run', 'fake/image', '--prompt', 'x', '--no-wait'];
    well(await home.run(run));
    well(await home.run([...run, ...metadata]));
    await service.work();
  });

  test('adds up the account by the given groups, as a table or as JSON', async () => {
    const today = new Date().toISOString().slice(0, 10);
    assert.equal(well(await home.run(['usage'])).stdout, `${today}\t2\t0\t0\t0\t$0.02\n`);
    const by = ['usage', '--by', 'metadata.customer,model,metadata.customer'];
    assert.equal(
      well(await home.run(by)).stdout,
      '-\tfake/image\t1\t0\t0\t0\t$0.01\n4 2\tfake/image\t1\t0\t0\t0\t$0.01\n',
    );
    const { lines } = well(await home.run([...by, '--json']));
    assert.deepEqual(
      lines.map((line) => [line.metadata.customer, line.charged_usd_micro]),
      [
        [null, '10000'],
        ['4\t2', '10000'],
      ],
    );
  });

  test('counts only the requests that the filters name', async () => {
    const of = async (...filter: string[]) =>
      well(await home.run(['usage', '--by', 'model', ...filter])).stdout;
    const line = (requests: number) => `fake/image\t${requests}\t0\t0\t0\t$0.0${requests}\n`;
    assert.equal(await of(...metadata), line(1));
    assert.equal(await of('--model', 'fake/image', '--key', account.key_id), line(2));
    assert.equal(await of('--model', 'fake/video'), '');
    const none = well(await home.run(['usage', '--key', nobody]));
    assert.deepEqual(
      [none.stdout, none.stderr],
      ['', 'No requests that match ended in these days.\n'],
    );
    refused(await home.run(['usage', '--metadata', 'customer']), 2, /not metadata/);
  });

  test('of a period without requests prints nothing', async () => {
    const ran = well(await home.run(['usage', '--from', '2020-01-01', '--to', '2020-02-01']));
    assert.deepEqual([ran.stdout, ran.stderr], ['', 'No requests ended in these days.\n']);
    refused(await home.run(['usage', '--by', 'week']), 2, /by must be one or more of day/);
    refused(await home.run(['usage', '--from', '2020-01-01']), 2, /at most 31 days/);
  });
});
