import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { entries } from '../../server/src/http/site/entries.ts';
import { tinyPng } from '../../server/test/kit/fake.ts';
import { startService, type Service } from '../../server/test/kit/service.ts';
import { delta, openTap } from '../../server/test/kit/tap.ts';
import {
  installed,
  names,
  program,
  root,
  run,
  tools,
  workspace,
  type ProcessResult,
  type Project,
} from './package-kit.ts';

/** The published package: its contents, the runtimes that can load it, and calls from each. */

let service: Service;
let project: Project;
let env: Record<string, string>;
before(async () => {
  service = await startService({ running: true });
  service.fake.behave = {
    chat: (wanted) => {
      const tap = openTap(wanted);
      tap.push(delta('Hello', 'stop'));
      tap.end();
      return tap.outcome;
    },
  };
  const { key } = await service.account();
  env = { FAREBOX_API_KEY: key, FAREBOX_BASE_URL: `${service.base}/v1` };
  project = await installed();
  project.write({
    'esm.mjs': program(`import { ${names} } from '@farebox/client';`),
    'common.cjs': program(`const { ${names} } = require('@farebox/client');`),
  });
  writeFileSync(path.join(project.dir, 'cat.png'), tinyPng);
});
after(async () => {
  project?.stop();
  await service.audit();
  await service.stop();
});

const folder = () => path.join(project.dir, 'node_modules', '@farebox', 'client');
const manifest = () => JSON.parse(readFileSync(path.join(folder(), 'package.json'), 'utf8'));

const expected = {
  same: true,
  cost: '$0.01',
  size: tinyPng.length,
  streamed: tinyPng.length,
  text: 'Hello',
  code: 'unknown_model',
};

function assertWorks({ code, stdout, stderr }: ProcessResult): void {
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), expected);
  assert.equal(stderr, '');
}

/** The size of all files that an import loads, without the runtime's own. */
function weight(entry: string, found = new Set<string>()): Set<string> {
  found.add(entry);
  const text = readFileSync(path.join(folder(), 'dist', entry), 'utf8');
  for (const [, name] of text.matchAll(/(?:from |require\()["']\.\/([^"']+)["']/g))
    if (!found.has(name!)) weight(name!, found);
  return found;
}

describe('what is published', () => {
  test('is the built library, the command, its pages and its licence, and nothing else', () => {
    const files = readdirSync(folder(), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(folder(), path.join(entry.parentPath, entry.name)));
    const known =
      /^(bin\/fare\.mjs|dist\/.*\.(c?js|d\.c?ts|md)|docs\/(api\/)?[a-z-]+\.md|man\/fare\.1|README\.md|LICENSE|package\.json)$/;
    assert.deepEqual(
      files.filter((file) => !known.test(file)),
      [],
    );
    for (const file of [
      'README.md',
      'LICENSE',
      'bin/fare.mjs',
      'dist/index.cjs',
      'dist/cli/main.js',
    ])
      assert.ok(files.includes(file), `${file} is missing`);
  });

  test('has the whole pages of docs/ for callers, whose links lead to one another', () => {
    const docs = path.join(folder(), 'docs');
    const pages = entries.filter(({ section }) => section === undefined);
    const names = pages.map(({ name }) => `${name}.md`);
    const carried = readdirSync(docs, { recursive: true }).map(String);
    assert.deepEqual(carried.toSorted(), ['api', ...names].toSorted());
    for (const name of names) {
      const text = readFileSync(path.join(docs, name), 'utf8');
      const original = readFileSync(path.join(root, 'docs', name), 'utf8');
      assert.equal(text.split('\n').length, original.split('\n').length, name);
      for (const [, target] of text.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)) {
        const page = path.join(path.dirname(name), target!);
        assert.ok(/^https?:/.test(target!) || names.includes(page), `${name}: ${target}`);
      }
    }
  });

  test('installs nothing but itself', () => {
    assert.equal(manifest().dependencies, undefined);
    // An exact version would exclude every project with another one.
    for (const [name, range] of Object.entries(manifest().peerDependencies))
      assert.match(String(range), /^>=\d+ <\d+$/, name);
    const there = readdirSync(path.join(project.dir, 'node_modules'));
    assert.deepEqual(
      there.filter((name) => !name.startsWith('.')),
      ['@farebox'],
    );
    assert.equal(manifest().scripts, undefined, 'it runs something when it is installed');
  });

  test('is at most 16 KB, as servers send it', () => {
    const bytes = [...weight('index.js')].map((name) =>
      readFileSync(path.join(folder(), 'dist', name)),
    );
    const size = gzipSync(Buffer.concat(bytes), { level: 9 }).length;
    assert.ok(size <= 16 * 1024, `${size} bytes`);
  });

  test('loads nothing of Node with the library', () => {
    for (const entry of ['index.js', 'index.cjs'])
      for (const name of weight(entry)) {
        const text = readFileSync(path.join(folder(), 'dist', name), 'utf8');
        assert.doesNotMatch(text, /(from |require\(|import\()["'][^."']/, name);
      }
  });

  test('contains no path of the machine that built it', () => {
    for (const entry of readdirSync(folder(), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const text = readFileSync(path.join(entry.parentPath, entry.name), 'utf8');
      assert.ok(!text.includes(root), entry.name);
    }
  });

  test('is built the same twice', async () => {
    const files = (dir: string) =>
      readdirSync(dir, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.js'))
        .toSorted();
    const aside = path.join(project.dir, 'again');
    const vite = path.join(root, 'node_modules', 'vite', 'bin', 'vite.js');
    const args = ['build', '--mode', 'es', '--logLevel', 'error', '--outDir', aside];
    const built = await run(process.execPath, [vite, ...args], workspace);
    assert.equal(built.code, 0, built.stderr);
    for (const file of files(aside)) {
      const first = readFileSync(path.join(folder(), 'dist', file), 'utf8');
      assert.equal(readFileSync(path.join(aside, file), 'utf8'), first, file);
    }
  });

  test('pleases publint and are-the-types-wrong', async () => {
    const lint = await run('publint', ['--strict', folder()], root, { PATH: pathWithTools() });
    assert.equal(lint.code, 0, lint.stdout + lint.stderr);
    const args = [project.tarball, '--profile', 'strict', '--no-color'];
    const types = await run('attw', args, root, { PATH: pathWithTools() });
    assert.equal(types.code, 0, types.stdout + types.stderr);
  });
});

function pathWithTools(): string {
  return `${tools}${path.delimiter}${process.env.PATH}`;
}

/** Other versions of Node on the path, often an older one. */
function otherNodes(): string[] {
  return (process.env.PATH ?? '')
    .split(path.delimiter)
    .filter((dir) => !dir.includes('node_modules'))
    .map((dir) => path.join(dir, 'node'))
    .filter((file) => existsSync(file));
}

describe('a program of somebody else', () => {
  for (const file of ['esm.mjs', 'common.cjs']) {
    test(`works as ${file}`, async () => {
      assertWorks(await run(process.execPath, [file], project.dir, env));
    });
  }

  test('that loads it by import and by require gets the same classes', async () => {
    project.write({ 'both.mjs': both });
    const { stdout, stderr } = await run(process.execPath, ['both.mjs'], project.dir, env);
    assert.equal(stderr, '');
    assert.deepEqual(JSON.parse(stdout), {
      error: true,
      other: false,
      own: [true, false],
      uploaded: 'upload',
    });
  });

  test('works on the Node of the system', async (t) => {
    const [node] = otherNodes();
    if (!node) return t.skip('there is no other Node');
    const { stdout } = await run(node, ['--version'], project.dir);
    if (Number(/\d+/.exec(stdout)![0]) < 20) return t.skip(`it is ${stdout.trim()}`);
    assertWorks(await run(node, ['esm.mjs'], project.dir, env));
    assertWorks(await run(node, ['common.cjs'], project.dir, env));
  });

  test('finds the command', async () => {
    const { code, stdout } = await run('node_modules/.bin/fare', ['--version'], project.dir);
    assert.deepEqual([code, stdout.trim()], [0, manifest().version]);
  });

  for (const [resolution, module, lib, types] of [
    ['nodenext', 'nodenext', ['es2022'], ['node']],
    ['bundler', 'esnext', ['es2022', 'dom', 'dom.iterable'], []],
  ] as const) {
    test(`has its types with ${resolution}`, async () => {
      project.write({
        'tsconfig.json': JSON.stringify({
          compilerOptions: {
            strict: true,
            noEmit: true,
            skipLibCheck: types.length > 0,
            target: 'es2022',
            exactOptionalPropertyTypes: true,
            noUncheckedIndexedAccess: true,
            module,
            moduleResolution: resolution,
            lib,
            types,
          },
          files: resolution === 'nodenext' ? ['typed.ts', 'typed.cts'] : ['typed.ts'],
        }),
        'typed.ts': typed,
        'typed.cts': typed,
      });
      const typeRoots = path.join(project.dir, 'node_modules', '@types');
      if (types.length > 0) symlinkSync(path.join(root, 'node_modules', '@types'), typeRoots);
      const checked = await run(path.join(tools, 'tsc'), ['-p', '.'], project.dir, {
        PATH: pathWithTools(),
      });
      assert.equal(checked.stdout, '');
      assert.equal(checked.code, 0);
    });
  }
});

const both = `
import { createRequire } from 'node:module';
import { Farebox, FareboxError, file } from '@farebox/client';
const common = createRequire(import.meta.url)('@farebox/client');
class Own extends FareboxError {}
const error = await new common.Farebox({ apiKey: 'wrong' }).balance().catch((thrown) => thrown);
const { card } = await new common.Farebox().run('fake/image', { prompt: 'x', image_url: file('./cat.png') });
console.log(JSON.stringify({
  error: error instanceof FareboxError && FareboxError !== common.FareboxError,
  other: new Error() instanceof FareboxError || null instanceof FareboxError,
  own: [new Own('aborted', 'x') instanceof common.FareboxError, error instanceof Own],
  uploaded: /^file_/.test(card.input.image_url) ? 'upload' : card.input.image_url,
}));
`;

const typed = `
import { Farebox, FareboxError, file, type ErrorCode, type Output, type Status, type StatusName, type WebhookEvent, verifyWebhook } from '@farebox/client';
const farebox = new Farebox({ apiKey: 'k', baseUrl: 'http://localhost/v1' });
export async function all(signal: AbortSignal): Promise<bigint | null> {
  const { output, card } = await farebox.run('m', { prompt: 'x', image_url: file('./a.png') }, { signal, onStatus: (s: Status) => s.progress });
  const url: string | undefined = output.images?.[0]?.url;
  const mine = await farebox.run<Output & { mine: number }>('m', {});
  const n: number = mine.output.mine;
  const stream = await farebox.chat.create({ model: 'm', messages: [{ role: 'user', content: 'x' }], stream: true });
  for await (const chunk of stream) { const cost: bigint | undefined = chunk.usage?.cost_usd_micro; const piece: string = chunk.choices[0]?.delta.content ?? ''; void [cost, piece]; }
  const reply = await farebox.chat.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] });
  const text: string | null | undefined = reply.choices[0]?.message.content;
  const event: WebhookEvent = await verifyWebhook({ body: '', headers: new Headers(), secret: 'whsec_' });
  const status: StatusName = event.status;
  try { await farebox.balance(); } catch (error) {
    if (error instanceof FareboxError) {
      const code: ErrorCode | string = error.code;
      const needed: bigint | undefined = error.details.required_usd_micro;
      void [code, needed];
    }
  }
  const paid: bigint = reply.usage.cost_usd_micro;
  const called: string | undefined = reply.choices[0]?.message.tool_calls?.flatMap((call) => call.type === 'function' ? [call.function.name] : [])[0];
  await farebox.chat.create({ model: 'm', messages: [reply.choices[0]!.message, { role: 'tool', tool_call_id: 'x', content: 'y' }] });
  const charged: bigint = card.charged_usd_micro;
  const completed: 'COMPLETED' = card.status;
  const now = await farebox.status('r');
  if (now.status === 'FAILED') { const why: string = now.error.message; void why; }
  // @ts-expect-error there is one only where it FAILED
  else void now.error.message;
  interface Mine { prompt: string; image_url?: string }
  const input: Mine = { prompt: 'x' };
  await farebox.estimate('m', input);
  const unset = undefined as AbortSignal | undefined;
  const nothing = undefined;
  await farebox.run('m', input, { signal: unset, timeoutMs: nothing, maxUsdMicro: nothing, onStatus: nothing, onUpload: nothing, idempotencyKey: nothing, webhookUrl: nothing });
  await farebox.requests.list({ status: nothing, from: nothing, limit: nothing }, { signal: unset });
  await farebox.upload('./a.png', { contentType: nothing, onProgress: nothing });
  await farebox.download('x', { to: nothing, onProgress: nothing });
  new Farebox({ apiKey: nothing, baseUrl: nothing, fetch: nothing, headers: nothing });
  // @ts-expect-error a text is no input
  await farebox.estimate('m', 'x');
  // @ts-expect-error a number is no amount
  await farebox.run('m', {}, { maxUsdMicro: 5 });
  void [url, n, text, status, paid, called, charged, completed];
  return card.charged_usd_micro;
}
`;
