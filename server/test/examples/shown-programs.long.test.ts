/** Runs the programs of the public pages as a reader copies them. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { originOf } from '../kit/web.ts';
import { missing, openWorld, type Ran, type World } from './example-kit.ts';

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
  const blocks = /<h[23][^>]*>(curl|JavaScript|Python|Go)<\/h[23]>\n<pre[^>]*><code>([^<]*)</g;
  return [...html.matchAll(blocks)].map(([, language, code]) => [
    language!,
    code!
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

const languages: Record<string, { skip: string | false; run: (program: string) => Promise<Ran> }> =
  {
    curl: {
      skip: missing('curl', '--version'),
      run: (program) => world.run('sh', ['-euc', program]),
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
  ['/models/sandbox/canvas/text-to-image', 1, 'requests', /\/output\/0\?exp=\d+/],
  ['/models/sandbox/chat', 1, 'openai', /sandbox|hello/i],
  ['/docs', 2, 'openai, requests', /\/output\/0\?exp=\d+|sandbox|hello/i],
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
