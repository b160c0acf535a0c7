import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { startService, type Service, type TestAccount } from '../../server/test/kit/service.ts';
import { openSandbox, type OpenedSandbox } from '../../server/test/upstreams/sandbox-kit.ts';
import { run as runTool, strict, tools } from './package-kit.ts';

/** Runs every program of docs/clients.md unchanged, in its own project with the stock packages. */

const root = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');

let sandbox: OpenedSandbox;
let service: Service;
let account: TestAccount;
let project: string;
before(async () => {
  sandbox = await openSandbox();
  const catalog = readFileSync(join(root, 'catalog/sandbox.yaml'), 'utf8');
  service = await startService({ running: true, catalog, upstreams: [sandbox.sandbox] });
  account = await service.account();
  project = mkdtempSync(join(tmpdir(), 'farebox-clients-'));
  mkdirSync(join(project, 'node_modules'));
  for (const name of ['ai', '@ai-sdk', '@farebox', '@types', 'openai']) {
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  }
});
after(async () => {
  rmSync(project, { recursive: true, force: true });
  await service.audit();
  await service.stop();
  await sandbox.close();
});

/** The expected output of each program, by the word after its fence. */
const expected: Record<string, RegExp[]> = {
  openai: [/hello[\s\S]*micro-USD: \d+[\s\S]*hello/i, /^chatcmpl-/],
  'openai-environment': [/hello/i],
  'openai-images': [/^http\S+\/output\/0\?exp=\d+/],
  ai: [
    /for \d+ micro-USD[^]*image\/png \d+ \{[^]*charged_usd_micro[^]*width: 1024[^]*height: 576[^]*video\/mp4 \d+/,
  ],
  'ai-openai': [/hello/i],
  'ai-general': [/hello/i],
};

const programs = [...page.matchAll(/^```js (\S+)\n([\s\S]*?)^```$/gm)].map((found) => ({
  word: found[1]!,
  text: found[2]!,
}));

test('every program of the page is run', () => {
  const words = programs.map(({ word }) => word);
  assert.deepEqual([...new Set(words)].sort(), Object.keys(expected).sort());
  assert.equal(words.length, Object.values(expected).flat().length);
  assert.equal([...page.matchAll(/^```js\b/gm)].length, programs.length);
});

test('every program compiles under strict', async () => {
  const files = programs.map((_, i) => `typed-${i}.mts`);
  for (const [i, { text }] of programs.entries()) writeFileSync(join(project, files[i]!), text);
  writeFileSync(join(project, 'tsconfig.json'), strict(files));
  const checked = await runTool(join(tools, 'tsc'), ['-p', '.'], project);
  assert.equal(checked.stdout, '');
  assert.equal(checked.code, 0);
});

const seen: Record<string, number> = {};
for (const [i, { word, text }] of programs.entries()) {
  const wanted = expected[word]![(seen[word] = (seen[word] ?? -1) + 1)]!;
  test(`program ${i + 1}, ${word}, runs and says what it should`, async () => {
    const file = join(project, `program-${i}.mjs`);
    writeFileSync(file, text);
    const before = (await service.balance(account)).available;
    const { code, out, err } = await run(file);
    assert.equal(code, 0, err);
    assert.match(out, wanted);
    // The SDK warns on stderr about settings that the model has no field for.
    assert.equal(err, '');
    assert.ok((await service.balance(account)).available < before);
  });
}

function run(file: string): Promise<{ code: number | null; out: string; err: string }> {
  const base = `${service.base}/v1`;
  const env = {
    PATH: process.env.PATH,
    FAREBOX_BASE_URL: base,
    FAREBOX_API_KEY: account.key,
    OPENAI_BASE_URL: base,
    OPENAI_API_KEY: account.key,
  };
  const child = spawn(process.execPath, [file], { env, cwd: project });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  return new Promise((done) => child.once('exit', (code) => done({ code, out, err })));
}
