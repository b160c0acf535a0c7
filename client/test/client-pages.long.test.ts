import assert from 'node:assert/strict';
import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { signWebhook } from '../../server/src/core/request/webhook.ts';
import { startService, type Service } from '../../server/test/kit/service.ts';
import { openSandbox, type OpenedSandbox } from '../../server/test/upstreams/sandbox-kit.ts';
import { installed, root, run, strict, tools, type Project } from './package-kit.ts';

/** Runs every program of docs/client.md and of the package's README unchanged, with the package. */

const pages = ['docs/client.md', 'client/README.md'];
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

let sandbox: OpenedSandbox;
let service: Service;
let project: Project;
let env: Record<string, string>;
let key: string;
before(async () => {
  sandbox = await openSandbox();
  const catalog = readFileSync(path.join(root, 'catalog/sandbox.yaml'), 'utf8');
  service = await startService({ running: true, catalog, upstreams: [sandbox.sandbox] });
  key = (await service.account()).key;
  env = {
    FAREBOX_API_KEY: key,
    FAREBOX_BASE_URL: `${service.base}/v1`,
    FAREBOX_WEBHOOK_SECRET: secret,
  };
  project = await installed();
});
after(async () => {
  project?.stop();
  await service.audit();
  await service.stop();
  await sandbox.close();
});

/** The expected output of each program, by its page and the word after its fence. */
const expected: Record<string, RegExp> = {
  'docs/client.md run': /costs \$0\.03\nuploaded [^]*COMPLETED[^]*paid \$0\.03 1\n$/,
  'docs/client.md resume': /^keep [0-9a-f-]{36}\n[^]*COMPLETED\nimage\/png\n$/,
  'docs/client.md chat': /^Hello[^]* \d+n\nHello[^]*\ncost \d+n\n$/,
  'docs/client.md errors': /^unpriceable 400 \S*duration_seconds .+\n$/,
  'docs/client.md webhook': /^400\n[0-9a-f-]{36} \S*images\S*\n200\n$/,
  'client/README.md run': /^keep this: [0-9a-f-]{36}\n[^]*COMPLETED \npaid \$0\.03\n$/,
  'client/README.md chat': /^Hello[^]*\n\d+ micro-USD\n$/,
};

const programs = pages.flatMap((page) =>
  [
    ...readFileSync(path.join(root, page), 'utf8').matchAll(/^```([jt]s) ?(.*)\n([^]*?)^```$/gm),
  ].map(([, language, word, text]) => ({
    name: `${page} ${word}`,
    text: text!,
    file: language === 'ts' ? 'program.mts' : 'program.mjs',
  })),
);

test('every program of the pages is run', () => {
  const names = programs.map(({ name }) => name);
  assert.deepEqual(names.toSorted(), Object.keys(expected).toSorted());
});

test('every program compiles under strict', async () => {
  const types = path.join(project.dir, 'node_modules', '@types');
  symlinkSync(path.join(root, 'node_modules', '@types'), types);
  const files = programs.map((_, i) => `typed-${i}.mts`);
  for (const [i, { text }] of programs.entries()) project.write({ [files[i]!]: text });
  project.write({ 'tsconfig.json': strict(files) });
  const checked = await run(path.join(tools, 'tsc'), ['-p', '.'], project.dir);
  assert.equal(checked.stdout, '');
  assert.equal(checked.code, 0);
});

for (const { name, text, file } of programs) {
  test(`${name} runs and says what it should`, async () => {
    const called = name.endsWith('webhook') ? await delivery() : '';
    project.write({ [file]: text + called });
    const ended = await run(process.execPath, [file], project.dir, env);
    assert.equal(ended.code, 0, ended.stderr);
    assert.equal(ended.stderr, '');
    assert.match(ended.stdout, expected[name]!);
  });
}

/** Calls the handler as its server would: first with a forged call, then with the service's own. */
async function delivery(): Promise<string> {
  const model = '/v1/queue/sandbox/canvas/text-to-image';
  const body = { prompt: 'x', resolution: '1k' };
  const { body: queued } = await service.call('POST', model, { key, body });
  const status = `/v1/requests/${queued.request_id}/status?wait=30`;
  for (let now = ''; now !== 'COMPLETED';)
    now = (await service.call('GET', status, { key })).body.status;
  const { body: card } = await service.call('GET', `/v1/requests/${queued.request_id}`, { key });
  const text = JSON.stringify(card);
  const seconds = Math.floor(Date.now() / 1000);
  const headers = signWebhook([secret], queued.request_id, seconds, text);
  const send = (altered: string) =>
    `console.log((await POST(new Request('http://localhost/', ${JSON.stringify({
      method: 'POST',
      headers,
      body: altered,
    })}))).status);\n`;
  return send(text.replace('COMPLETED', 'FAILED')) + send(text);
}
