/** Runs the programs of the public pages as a reader copies them. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { programs, type SnippetCall, type SnippetLanguage } from '../../src/core/snippets.ts';
import { originOf } from '../kit/web.ts';
import { missing, openWorld, type CommandResult, type World } from './example-kit.ts';

const root = resolve(import.meta.dirname, '../../..');
let world: World;
before(async () => {
  world = await openWorld();
  mkdirSync(join(world.dir, 'node_modules'));
  for (const name of ['@farebox', 'openai'])
    symlinkSync(join(root, 'node_modules', name), join(world.dir, 'node_modules', name));
});
after(() => world.stop());

/** The programs of a page by language, in their order. */
async function shown(path: string): Promise<[language: string, program: string][]> {
  const html = await (await fetch(`${world.service.base}${path}`)).text();
  const base = `${originOf(world.service)}/v1`;
  const blocks =
    /<h[23][^>]*>(curl|fare|JavaScript|Python|Go)<\/h[23]>\n<div[^>]*><pre[^>]*><code>([^]*?)<\/code>/g;
  return [...html.matchAll(blocks)].map(([, language, code]) => [
    language!,
    code!
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&')
      .replaceAll(base, `${world.service.base}/v1`),
  ]);
}

let files = 0;

function write(ending: string, program: string): string {
  const file = join(world.dir, `program-${++files}.${ending}`);
  writeFileSync(file, program);
  return file;
}

const languages: Record<
  SnippetLanguage,
  { skip: string | false; run: (program: string) => Promise<CommandResult> }
> = {
  curl: {
    skip: missing('curl', '--version'),
    run: (program) => world.run('sh', ['-euc', program]),
  },
  fare: {
    skip: false,
    run: (program) => {
      const fare = join(root, 'client/dist/cli/main.js');
      const own = { XDG_STATE_HOME: world.dir, XDG_CONFIG_HOME: world.dir };
      const command = `fare() { "${process.execPath}" "${fare}" "$@"; }`;
      return world.run('sh', ['-euc', `${command}\n${program}`], own);
    },
  },
  JavaScript: {
    skip: false,
    run: (program) => world.run(process.execPath, [write('mjs', program)]),
  },
  Python: {
    skip: false,
    run: (program) => world.run('python3', [write('py', program)]),
  },
  Go: {
    skip: missing('go', 'version'),
    run: (program) => world.run('go', ['run', write('go', program)]),
  },
};

/** Why a program cannot run: programs in Python use packages that only some computers have. */
const lacks = (language: string, modules: string) =>
  language === 'Python' && missing('python3', '-c', `import ${modules}`);

const pages: [path: string, programs: number, modules: string, says: RegExp][] = [
  ['/models/sandbox/canvas/text-to-image', 1, 'requests', /\/output\/0\?exp=\d+|\.png/],
  ['/models/sandbox/chat', 1, 'openai', /sandbox|hello/i],
  ['/docs', 2, 'openai, requests', /\/output\/0\?exp=\d+|\.png|sandbox|hello/i],
];
for (const [path, count, modules, says] of pages)
  describe(`the programs of ${path}`, () => {
    for (const [language, { skip, run }] of Object.entries(languages))
      test(
        `in ${language} run as they are shown`,
        { skip: skip || lacks(language, modules) },
        async () => {
          const own = (await shown(path)).filter(([name]) => name === language);
          assert.equal(own.length, count);
          for (const [, program] of own) {
            const { code, stdout, stderr } = await run(program);
            assert.equal(code, 0, `${stderr}\n${program}`);
            assert.match(stdout, says);
          }
        },
      );
  });

const messages = [{ role: 'user', content: "It's $5, isn't it?" }];
const calls: [name: string, modules: string, call: Omit<SnippetCall, 'base_url'>][] = [
  [
    'a picture',
    'requests',
    {
      kind: 'image',
      model_id: 'sandbox/canvas/text-to-image',
      input: { prompt: "a cat's $tail, \\n and `so`", resolution: '1k', seed: 7 },
    },
  ],
  [
    'a chat',
    'openai',
    { kind: 'text', model_id: 'sandbox/chat', input: { messages, max_tokens: 50 } },
  ],
];
for (const [name, modules, call] of calls)
  describe(`the programs of ${name} keep its very words`, () => {
    for (const [language, { skip, run }] of Object.entries(languages))
      test(`in ${language}`, { skip: skip || lacks(language, modules) }, async () => {
        const shown = programs({ base_url: `${world.service.base}/v1`, ...call });
        const { code, stdout, stderr } = await run(shown[language as SnippetLanguage]);
        assert.equal(code, 0, stderr);
        assert.ok(stdout.trim().length > 0);
        const { key } = world.account;
        const { data } = (await world.service.call('GET', '/v1/requests?limit=1', { key })).body;
        const { model_id, request_id } = data[0];
        assert.equal(model_id, call.model_id);
        if (call.kind === 'text') return;
        const { body } = await world.service.call('GET', `/v1/requests/${request_id}`, { key });
        assert.deepEqual(body.input, call.input);
      });
  });
