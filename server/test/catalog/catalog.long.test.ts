import assert from 'node:assert/strict';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { UpstreamDefinition } from '../../src/core/catalog/upstream-definition.ts';
import { validateInput } from '../../src/core/catalog/model-input.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { openCatalog, type CatalogOptions } from '../../src/catalog/catalog.ts';
import { checkFolder } from '../../src/catalog/check-folder.ts';
import { until } from '../kit/until.ts';

const docs = new URL('../../../docs/', import.meta.url);
const shipped = new URL('../../../catalog/', import.meta.url).pathname;

const any = { usableUpstreams: () => true as const };

function yaml(id: string, usd = '0.01', upstream = 'sandbox'): string {
  return `# yaml-language-server: $schema=./schema.json
upstream: ${upstream}
owned_by: us
models:
  - id: ${id}
    kind: image
    task: text-to-image
    name: Canvas
    price: { unit: image, usd: "${usd}" }
    created: 2026-01-01
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string }
    example: { prompt: a boat }
`;
}

/** A file with its own definition. */
function defining(id: string, url = 'https://b.example', key = 'ACME_KEY'): string {
  const form = `upstream: { name: acme, adapter: openai, url: "${url}", key_from: ${key} }`;
  return yaml(id).replace('upstream: sandbox', form);
}

async function folder(t: TestContext, files: Record<string, string>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'catalog-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  return dir;
}

async function open(
  t: TestContext,
  files: Record<string, string>,
  options: Partial<CatalogOptions> = {},
) {
  const dir = await folder(t, files);
  const lines: { fields: object; message: string }[] = [];
  const log = {
    info: (fields: object, message: string) => void lines.push({ fields, message }),
    warn: (fields: object, message: string) => void lines.push({ fields, message }),
  };
  const store = await openCatalog({
    dir,
    log,
    usableUpstreams: () => true,
    debounceMs: 10,
    pollMs: 60_000,
    ...options,
  });
  t.after(() => store.close());
  const ids = () => [...store.current().models.keys()];
  const put = (name: string, text: string) => writeFile(join(dir, name), text);
  return { dir, store, ids, put, lines };
}

describe('one file', () => {
  test('is read as YAML 1.2, decimals as they are written', () => {
    const { rows, problems } = parseCatalogText(yaml('a/b', '0.010'), 'a.yaml');
    assert.deepEqual(problems, []);
    assert.equal(rows[0]!.price.unit_price_usd_micro, 10_000n);
    assert.equal(rows[0]!.created, Date.UTC(2026, 0, 1) / 1000);
    assert.equal(rows[0]!.owned_by, 'us');
  });

  const row = yaml('a/b');
  const bomb = Array.from(
    { length: 9 },
    (_, i) =>
      `x-${i}: &a${i} [${Array(10)
        .fill(i === 0 ? 'x' : `*a${i - 1}`)
        .join(', ')}]`,
  ).join('\n');
  const table: [string, string, RegExp, number | undefined][] = [
    ['an empty file', '', /empty/, undefined],
    ['a file of comments', '# nothing\n', /empty/, undefined],
    [
      'a key twice',
      row.replace('    kind: image', '    kind: image\n    kind: video'),
      /unique/,
      7,
    ],
    ['broken indentation', `${row}  bad\n`, /not valid YAML/, 17],
    ['a tab', row.replace('    kind', '\tkind'), /not valid YAML/, 6],
    ['two documents', `${row}---\n${row}`, /multiple documents/, 17],
    ['an unknown tag', row.replace('Canvas', '!!js/function "x"'), /tag/i, 8],
    ['a reference to no anchor', row.replace('Canvas', '*nothing'), /alias/i, undefined],
    ['aliases that unfold into gigabytes', `${bomb}\n${row}`, /alias/i, undefined],
    [
      'a merge key, which YAML 1.2 has not',
      row.replace('    kind', '    <<: {}\n    kind'),
      /<< is not a known field/,
      5,
    ],
    ['a wrong value, with its line', row.replace('"0.01"', '0.01'), /in quotes/, 9],
    [
      'a wrong value deep in the schema',
      row.replace('type: string', 'typ: string'),
      /unknown keyword: "typ"/,
      12,
    ],
    [
      'a missing field, with the line of its row',
      row.replace('    name: Canvas\n', ''),
      /name is missing/,
      5,
    ],
  ];
  for (const [name, text, message, line] of table) {
    test(`${name} is told`, () => {
      const { rows, problems } = parseCatalogText(text, 'a.yaml');
      assert.equal(rows.length, 0);
      assert.match(problems[0]?.message ?? '', message, JSON.stringify(problems));
      assert.equal(problems[0]!.line, line, JSON.stringify(problems));
      assert.equal(problems[0]!.file, 'a.yaml');
      assert.ok(!problems[0]!.message.includes('\n'));
    });
  }

  test('one mistake in YAML is one problem, even if many lines are wrong after it', () => {
    const rows = [...'abcdef'].map((id) => row.slice(row.indexOf('  - id')).replace('a/x', id));
    const text = row + rows.join('');
    const { problems } = parseCatalogText(text.replace('    kind', '\tkind'), 'a.yaml');
    assert.deepEqual(
      problems.map(({ line }) => line),
      [6],
    );
  });

  test('may share a part among its rows by an anchor', () => {
    const shared = row
      .replace('models:', 'x-fields: &schema { type: object }\nmodels:')
      .replace(/input_schema:[^]*?example/, 'input_schema: *schema\n    example');
    assert.deepEqual(parseCatalogText(shared, 'a.yaml').problems, []);
  });

  test('cannot reach the prototype of anything', () => {
    parseCatalogText(row.replace('    kind', '    __proto__: { polluted: 1 }\n    kind'), 'a.yaml');
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });
});

describe('checkFolder', () => {
  test('reads every .yaml and .yml file in order and nothing else', async (t) => {
    const dir = await folder(t, {
      'b.yaml': yaml('b/x'),
      'a.yml': yaml('a/x'),
      '.hidden.yaml': 'x',
      'schema.json': '{',
      'c.yaml~': 'x',
    });
    const { files, rows, problems } = await checkFolder({ dir, ...any });
    assert.deepEqual(
      [files, rows.map((row) => row.id), problems],
      [['a.yml', 'b.yaml'], ['a/x', 'b/x'], []],
    );
  });

  test('reports every problem of every file, and an id that another file has', async (t) => {
    const dir = await folder(t, {
      'a.yaml': yaml('a/x'),
      'b.yaml': yaml('a/x'),
      'c.yaml': yaml('c c'),
    });
    const { problems } = await checkFolder({ dir, ...any });
    assert.deepEqual(
      problems.map((problem) => problem.file),
      ['c.yaml', 'b.yaml'],
    );
    assert.match(problems[1]!.message, /a\.yaml already has a row with this id/);
  });

  test('reports an empty folder', async (t) => {
    assert.match(
      (await checkFolder({ dir: await folder(t, {}), ...any })).problems[0]!.message,
      /no \.yaml file/,
    );
  });

  test('rejects where there is no folder', async () => {
    await assert.rejects(checkFolder({ dir: '/nowhere/at/all', ...any }), /ENOENT/);
  });

  test('finds nothing wrong with the catalog that is shipped', async () => {
    const { problems } = await checkFolder({ dir: shipped, ...any });
    assert.deepEqual(problems, []);
  });
});

describe('the live catalog', () => {
  test('serves the rows, and hides rows whose upstream is not set up', async (t) => {
    const { store, ids, put, lines } = await open(
      t,
      { 'a.yaml': yaml('a/x'), 'b.yaml': yaml('b/x', '1', 'fal') },
      { usableUpstreams: (name) => name === 'sandbox' || 'FAL_KEY is not set' },
    );
    assert.deepEqual(ids(), ['a/x']);
    assert.deepEqual(store.current().hidden, [{ id: 'b/x', reason: 'FAL_KEY is not set' }]);
    assert.deepEqual(store.problems(), []);
    const told = () => lines.filter(({ message }) => message.includes('hidden:'));
    assert.deepEqual(
      told().map(({ fields }) => fields),
      [{ hidden: [{ reason: 'FAL_KEY is not set', count: 1, ids: ['b/x'] }], count: 1 }],
    );
    await put('a.yaml', yaml('a/y'));
    await store.reload();
    assert.equal(told().length, 1, 'what had not changed was told again');
    await put('b.yaml', yaml('b/y', '1', 'fal'));
    await store.reload();
    assert.match(JSON.stringify(told()[1]), /"ids":\["b\/y"\]/);
  });

  test('says in a short line why the rows that are shipped are hidden', async (t) => {
    const usableUpstreams = (name: string) => `the upstream "${name}" needs its key`;
    const { store, lines } = await open(t, {}, { ...any, dir: shipped, usableUpstreams });
    const [{ fields }] = lines.filter(({ message }) => message.includes('hidden:')) as [any];
    const { hidden } = store.current();
    assert.ok(hidden.length > 90, String(hidden.length));
    assert.equal(fields.count, hidden.length, 'none is forgotten');
    const counted = fields.hidden.reduce((sum: number, { count }: any) => sum + count, 0);
    assert.equal(counted, hidden.length);
    assert.ok(JSON.stringify(fields).length < 3_000, JSON.stringify(fields));
  });

  test('reports a misspelt upstream, and hides rows of one that is not set up', async (t) => {
    const files = { 'a.yaml': yaml('a/x'), 'b.yaml': yaml('b/x', '1', 'sanbox') };
    const { store, ids, lines } = await open(t, files, { knownUpstreams: ['sandbox', 'fal'] });
    assert.deepEqual([ids(), store.current().hidden], [['a/x'], []]);
    const [problem, ...others] = store.problems();
    assert.match(
      problem!.message,
      /^b\/x: there is no upstream sanbox; the known ones are sandbox, fal\.$/,
    );
    assert.deepEqual([problem!.file, problem!.line, others], ['b.yaml', 5, []]);
    const told = lines.map(({ message }) => message).join('\n');
    assert.match(told, /catalog file has a problem; it has no rows/);
    assert.doesNotMatch(told, /last good rows stay/);
  });

  test('reports only that a folder without files is empty', async (t) => {
    const { dir, store, ids, lines } = await open(t, { 'a.yaml': yaml('a/x') });
    await rm(join(dir, 'a.yaml'));
    await store.reload();
    assert.deepEqual(ids(), []);
    const told = lines.map(({ message }) => message).join('\n');
    assert.match(told, /catalog folder has a problem/);
    assert.doesNotMatch(told, /last good rows stay/);
  });

  test('follows a changed file by itself', async (t) => {
    const { ids, put } = await open(t, { 'a.yaml': yaml('a/x') });
    await put('b.yaml', yaml('b/x'));
    await until('the new row is live', () => ids().includes('b/x'));
    assert.deepEqual(ids(), ['a/x', 'b/x']);
  });

  test('follows a file that is renamed into place, as editors do', async (t) => {
    const { dir, store, put } = await open(t, { 'a.yaml': yaml('a/x', '1') });
    await put('.a.swp', yaml('a/x', '2'));
    await rename(join(dir, '.a.swp'), join(dir, 'a.yaml'));
    const price = () => store.current().models.get('a/x')?.price.unit_price_usd_micro;
    await until('the new price is live', () => price() === 2_000_000n);
  });

  test('follows a change by comparing times where the system reports none', async (t) => {
    const { ids, put } = await open(t, { 'a.yaml': yaml('a/x') }, { pollMs: 20, watch: false });
    await put('b.yaml', yaml('b/x'));
    await until('the new row is live', () => ids().length === 2);
  });

  test('keeps the last good rows of a file that turns bad, and takes in the others', async (t) => {
    const { store, ids, put, lines } = await open(t, {
      'a.yaml': yaml('a/x'),
      'b.yaml': yaml('b/x'),
    });
    const before = store.current().models.get('a/x');
    await put('a.yaml', yaml('a/y').replace('usd:', 'usdd:'));
    await put('b.yaml', yaml('b/y'));
    await store.reload();
    const problems = store.problems();
    assert.deepEqual(ids(), ['a/x', 'b/y']);
    assert.equal(store.current().models.get('a/x'), before);
    assert.equal(problems[0]!.file, 'a.yaml');
    assert.equal(
      lines.filter(({ message }) => message.includes('has a problem')).length,
      problems.length,
    );
    await store.reload();
    // A lasting problem is logged once.
    assert.equal(
      lines.filter(({ message }) => message.includes('has a problem')).length,
      problems.length,
    );

    await put('a.yaml', yaml('a/y'));
    await store.reload();
    assert.deepEqual([ids(), store.problems()], [['a/y', 'b/y'], []]);
  });

  test('a file with the ids of another one changes no live price, whatever its name', async (t) => {
    const { dir, store, ids, put, lines } = await open(t, { 'b.yaml': yaml('b/x', '1') });
    const price = () => store.current().models.get('b/x')!.price.unit_price_usd_micro;
    await put('a.yaml', `${yaml('b/x', '2')}${yaml('a/y').split('models:\n')[1]}`);
    await store.reload();
    const problems = store.problems();
    assert.equal(price(), 1_000_000n, 'the copy changed the price');
    assert.deepEqual(ids(), ['a/y', 'b/x'], 'the new row of its own counts');
    assert.deepEqual(problems, [
      { file: 'a.yaml', path: '', message: 'b/x: b.yaml already has a row with this id.' },
    ]);
    const told = lines.filter(({ message }) => message.includes('has a problem'));
    assert.deepEqual(
      told.map(({ message }) => message),
      ['catalog file has a problem; what another file already defines is ignored'],
    );
    // Also while the file with the id has a problem, and when it changes.
    await put('b.yaml', 'models: 5');
    await store.reload();
    assert.equal(price(), 1_000_000n);
    await put('b.yaml', yaml('b/x', '3'));
    await store.reload();
    assert.equal(price(), 3_000_000n);
    await rm(join(dir, 'b.yaml'));
    await store.reload();
    assert.deepEqual(store.problems(), []);
    assert.equal(price(), 2_000_000n, 'nobody else has it now');
  });

  test('of two files that have an id at the start, the first by name has it', async (t) => {
    const files = { 'b.yaml': yaml('b/x', '1'), 'a.yaml': yaml('b/x', '2') };
    const { store } = await open(t, files);
    assert.equal(store.current().models.get('b/x')!.price.unit_price_usd_micro, 2_000_000n);
    assert.deepEqual(
      store.problems().map(({ file }) => file),
      ['b.yaml'],
    );
  });

  test("a file that defines another file's upstream redirects no call", async (t) => {
    const live = new Map<string, UpstreamDefinition>();
    const options = {
      knownUpstreams: ['sandbox'],
      define(all: UpstreamDefinition[]) {
        live.clear();
        for (const each of all) live.set(each.name, each);
      },
    };
    const { dir, store, ids, put, lines } = await open(t, { 'b.yaml': defining('b/x') }, options);
    const definition = live.get('acme');
    assert.equal(definition?.url, 'https://b.example');
    const copy = defining('a/y', 'https://a.example', 'OTHER_KEY');
    await put('a.yaml', copy);
    await store.reload();
    const problems = store.problems();
    assert.equal(live.get('acme'), definition, 'the copy took the upstream over');
    assert.deepEqual(ids(), ['a/y', 'b/x'], 'its rows are served by the live definition');
    const message = 'the upstream acme is already defined by b.yaml.';
    assert.deepEqual(problems, [{ file: 'a.yaml', path: '/upstream', message }]);
    const told = lines.filter(({ message: line }) => line.includes('has a problem'));
    assert.deepEqual(
      told.map((line) => line.message),
      ['catalog file has a problem; what another file already defines is ignored'],
    );
    // Also while the defining file has a problem, and when its definition changes.
    await put('b.yaml', 'models: 5');
    await store.reload();
    assert.equal(live.get('acme'), definition);
    await put('b.yaml', defining('b/x', 'https://moved.example'));
    await store.reload();
    assert.equal(live.get('acme')!.url, 'https://moved.example');
    assert.deepEqual([...live.keys()], ['acme'], 'it is defined once');
    await rm(join(dir, 'b.yaml'));
    await store.reload();
    assert.deepEqual(store.problems(), []);
    const { url, key_from } = live.get('acme')!;
    assert.deepEqual([url, key_from], ['https://a.example', 'OTHER_KEY'], 'nobody else has it now');
  });

  test('a file that defines an upstream and turns bad makes no row of another file wrong', async (t) => {
    const live = new Map<string, UpstreamDefinition>();
    const options = {
      knownUpstreams: ['sandbox'],
      define(all: UpstreamDefinition[]) {
        live.clear();
        for (const each of all) live.set(each.name, each);
      },
    };
    const files = { 'b.yaml': defining('b/x'), 'c.yaml': yaml('c/x', '1', 'acme') };
    const { store, ids, put } = await open(t, files, options);
    const definition = live.get('acme');
    const renamed = defining('b/x').replace('name: acme', 'name: other');
    const bad = [
      `${defining('b/x')}  bad\n`,
      '',
      'models: 5',
      `upstream: [\n${defining('b/x')}`,
      // The new name does not count, so the old one stays.
      renamed.replace('usd:', 'usdd:'),
    ];
    for (const text of bad) {
      await put('b.yaml', text);
      await store.reload();
      const problems = store.problems();
      const named = [...new Set(problems.map(({ file }) => file))];
      assert.deepEqual(named, ['b.yaml'], JSON.stringify(problems));
      assert.equal(live.get('acme'), definition, 'the last good definition went');
      assert.deepEqual(ids(), ['b/x', 'c/x']);
    }
    // Another file changes in the meantime.
    await put('c.yaml', yaml('c/y', '1', 'acme'));
    await store.reload();
    assert.deepEqual(ids(), ['b/x', 'c/y']);
    // The file is valid again, without that upstream: now the row has a problem.
    await put('b.yaml', renamed);
    await store.reload();
    const [problem, ...others] = store.problems();
    assert.match(
      problem!.message,
      /^c\/y: there is no upstream acme; the known ones are sandbox, other\.$/,
    );
    assert.deepEqual(others, []);
  });

  test('nor does a file that is bad from the start, if its definition can be read', async (t) => {
    const options = { ...any, knownUpstreams: ['sandbox'] };
    for (const text of [`${defining('b/x')}  bad\n`, defining('b/x').replace('usd:', 'usdd:')]) {
      const dir = await folder(t, { 'b.yaml': text, 'c.yaml': yaml('c/x', '1', 'acme') });
      const { problems, rows } = await checkFolder({ dir, ...options });
      assert.deepEqual([...new Set(problems.map(({ file }) => file))], ['b.yaml']);
      assert.deepEqual(
        rows.map(({ id }) => id),
        ['c/x'],
      );
    }
  });

  test('a mistake in a definition is reported, and keeps the last good one and its rows', async (t) => {
    const live = new Map<string, UpstreamDefinition>();
    const options = {
      knownUpstreams: ['sandbox'],
      usableUpstreams: (name: string) => live.has(name) || 'not there',
      definitionFault: ({ options: given }: UpstreamDefinition) =>
        given.base_path === '/slip' ? 'it cannot be so' : null,
      define(all: UpstreamDefinition[]) {
        live.clear();
        for (const each of all) live.set(each.name, each);
      },
    };
    const slip = (text: string) =>
      text.replace('key_from:', 'options: { base_path: /slip }, key_from:');
    const files = { 'b.yaml': defining('b/x'), 'c.yaml': yaml('c/x', '1', 'acme') };
    const { store, ids, put, lines } = await open(t, files, options);
    const definition = live.get('acme');
    const { version } = store.current();
    await put('b.yaml', slip(defining('b/y', 'https://moved.example')));
    await store.reload();
    const problems = store.problems();
    assert.deepEqual([ids(), store.current().hidden], [['b/x', 'c/x'], []]);
    assert.equal(store.current().version, version);
    assert.equal(live.get('acme'), definition);
    const message = 'the upstream acme: it cannot be so.';
    assert.deepEqual(problems, [{ file: 'b.yaml', path: '/upstream', line: 2, message }]);
    const told = lines.map((line) => line.message);
    assert.ok(
      told.includes('catalog file has a problem; its last good definition and rows stay in use'),
      told.join('\n'),
    );
    await put('b.yaml', defining('b/y', 'https://moved.example'));
    await store.reload();
    assert.deepEqual(store.problems(), []);
    assert.deepEqual([ids(), live.get('acme')!.url], [['b/y', 'c/x'], 'https://moved.example']);
  });

  test('of two files that define an upstream at the start, the first by name does', async (t) => {
    const dir = await folder(t, {
      'b.yaml': defining('b/x'),
      'a.yaml': defining('a/y', 'https://a.example'),
      'c.yaml': defining('c/z').replace('name: acme', 'name: sandbox'),
    });
    const { rows, problems, upstreams } = await checkFolder({ dir, ...any });
    assert.deepEqual(
      upstreams.map(({ file, definition }) => [file, definition.name, definition.url]),
      [['a.yaml', 'acme', 'https://a.example']],
    );
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['a/y', 'b/x', 'c/z'],
    );
    assert.deepEqual(
      problems.map(({ file, message }) => [file, message]),
      [
        ['b.yaml', 'the upstream acme is already defined by a.yaml.'],
        ['c.yaml', 'the upstream sandbox is already defined by Farebox itself.'],
      ],
    );
  });

  test('logs once that problems are gone', async (t) => {
    const files = { 'a.yaml': yaml('a/x'), 'b.yaml': 'models: 5', 'c.yaml': 'models: 5' };
    const { dir, store, put, lines } = await open(t, files);
    const gone = () => lines.filter(({ message }) => message === 'catalog problems are gone');
    await store.reload();
    assert.deepEqual(gone(), []);
    await put('b.yaml', yaml('b/x'));
    await store.reload();
    await store.reload();
    assert.deepEqual(
      gone().map(({ fields }) => fields),
      [{ files: ['b.yaml'] }],
    );
    await rm(join(dir, 'c.yaml'));
    await store.reload();
    assert.deepEqual(gone()[1]?.fields, { files: ['c.yaml'] });
    assert.deepEqual(store.problems(), []);
  });

  test('starts without the rows of a file that was never good', async (t) => {
    const { store, ids } = await open(t, { 'a.yaml': 'models: 5', 'b.yaml': yaml('b/x') });
    assert.deepEqual(ids(), ['b/x']);
    assert.equal(store.problems()[0]!.file, 'a.yaml');
  });

  test('drops the rows of a removed file', async (t) => {
    const { dir, store, ids } = await open(t, { 'a.yaml': yaml('a/x'), 'b.yaml': yaml('b/x') });
    await rm(join(dir, 'a.yaml'));
    await store.reload();
    assert.deepEqual([ids(), store.problems()], [['b/x'], []]);
  });

  test('keeps its rows when the folder is removed', async (t) => {
    const files = { 'a.yaml': yaml('a/x'), 'b.yaml': 'models: 5' };
    const { dir, store, ids, lines } = await open(t, files);
    const catalog = store.current();
    await rm(dir, { recursive: true });
    await store.reload();
    const problems = store.problems();
    assert.equal(store.current().version, catalog.version);
    assert.deepEqual(ids(), ['a/x']);
    assert.match(problems[0]!.message, /cannot be read/);
    const told = lines.map(({ message }) => message).join('\n');
    assert.doesNotMatch(told, /problems are gone/, 'nobody has looked at b.yaml');
  });

  test('does not start without its folder', async () => {
    const log = { info() {}, warn() {} };
    await assert.rejects(
      openCatalog({ dir: '/nowhere/at/all', usableUpstreams: () => true, log }),
      /ENOENT/,
    );
  });

  test('refuses a file too large to be a catalog, unread', async (t) => {
    const { store, ids } = await open(t, {
      'a.yaml': `#${'x'.repeat(9_000_000)}`,
      'b.yaml': yaml('b/x'),
    });
    assert.deepEqual(ids(), ['b/x']);
    assert.match(store.problems()[0]!.message, /larger than/);
  });

  test('changes its version with a row, and only then', async (t) => {
    // So that the catalog does not notice the change by itself.
    const still = { watch: false, pollMs: 3_600_000 };
    const { store, put } = await open(t, { 'a.yaml': yaml('a/x') }, still);
    const first = store.current().version;
    await put('a.yaml', `# a comment\n${yaml('a/x')}`);
    await store.reload();
    assert.equal(store.current().version, first);
    await put('a.yaml', yaml('a/x', '0.02'));
    await store.reload();
    assert.notEqual(store.current().version, first);
  });

  test('checks again which upstreams are set up', async (t) => {
    let verdict: true | string = 'no key';
    const { store, ids } = await open(
      t,
      { 'a.yaml': yaml('a/x') },
      { usableUpstreams: () => verdict },
    );
    assert.deepEqual(ids(), []);
    verdict = true;
    await store.reload();
    assert.deepEqual(ids(), ['a/x']);
  });

  test('keeps rows and their compiled schemas where a file did not change', async (t) => {
    const { store, put } = await open(t, { 'a.yaml': yaml('a/x') });
    const before = store.current().models.get('a/x');
    await put('b.yaml', yaml('b/x'));
    await store.reload();
    assert.equal(store.current().models.get('a/x'), before);
  });

  test('a price below its stated cost goes live, and the log warns of it once', async (t) => {
    const sold = (usd: string) => `${yaml('a/x', usd)}    cost_usd: "0.02"\n`;
    const { store, put, lines } = await open(t, { 'a.yaml': sold('0.03') });
    const warned = () =>
      lines.filter(({ message }) => /cost more than they are sold for/.test(message));
    assert.deepEqual([store.warnings(), warned()], [[], []]);
    await put('a.yaml', sold('0.003'));
    await store.reload();
    await store.reload();
    assert.equal(store.current().models.get('a/x')!.price.unit_price_usd_micro, 3_000n);
    const message =
      'a/x: it is sold for 0.003 USD an image, and its stated cost at sandbox is 0.02 USD.';
    const warning = { id: 'a/x', file: 'a.yaml', path: '/models/0/price', message, line: 9 };
    assert.deepEqual(store.warnings(), [warning]);
    assert.deepEqual(
      warned().map(({ fields }) => fields),
      [{ warnings: [warning], count: 1 }],
    );
    // The row stays in use, but its place in the file is unknown.
    await put('a.yaml', 'no catalog');
    await store.reload();
    const { line: _, ...unplaced } = warning;
    assert.deepEqual([store.warnings(), warned().length], [[unplaced], 1]);
  });

  test('it warns at the start too, whether the row is hidden or not', async (t) => {
    const text = `${yaml('a/x')}    cost_usd: "0.02"\n`;
    const { lines } = await open(t, { 'a.yaml': text }, { usableUpstreams: () => 'no' });
    assert.equal(
      lines.filter(({ message }) => /cost more than they are sold for/.test(message)).length,
      1,
    );
  });

  test('an old catalog object stays complete after a reload', async (t) => {
    const { store, put } = await open(t, { 'a.yaml': yaml('a/x') });
    const old = store.current();
    await put('a.yaml', yaml('a/y'));
    await store.reload();
    assert.deepEqual([...old.models.keys()], ['a/x']);
  });

  test('many reloads at once end with the newest', async (t) => {
    const { store, ids, put } = await open(t, { 'a.yaml': yaml('a/x') });
    const first = Array.from({ length: 5 }, () => store.reload());
    await put('a.yaml', yaml('a/y'));
    await Promise.all([...first, store.reload()]);
    assert.deepEqual(ids(), ['a/y']);
  });

  test('validates inputs with frozen rows', async (t) => {
    const { store } = await open(t, { 'a.yaml': yaml('a/x') });
    const model = store.current().models.get('a/x')!;
    assert.equal(validateInput(model, { prompt: 'x' }), null);
    assert.equal(validateInput(model, { prompt: 1, x: 2 })?.[0]?.path, '/prompt');
  });
});

describe('docs/catalog.md', () => {
  test('shows complete and valid files', async () => {
    const text = await readFile(new URL('catalog.md', docs), 'utf8');
    const files = [...text.matchAll(/```yaml\n(# yaml-language-server.*?)```/gs)];
    assert.ok(files.length >= 1);
    for (const [, file] of files) {
      const { rows, problems } = parseCatalogText(file!, 'catalog.md');
      assert.deepEqual(problems, []);
      assert.ok(rows.length > 0);
    }
  });

  test('names every field that a row may have', async () => {
    const text = await readFile(new URL('catalog.md', docs), 'utf8');
    const schema = JSON.parse(await readFile(join(shipped, 'schema.json'), 'utf8'));
    const { model, extra, price, upstream } = schema.$defs;
    for (const part of [model, extra, price, upstream]) {
      for (const field of Object.keys(part.properties)) {
        assert.ok(text.includes(`\`${field}\``), `docs/catalog.md does not explain ${field}`);
      }
    }
  });
});

describe('the catalog that comes with Farebox', () => {
  const own = new Set(['sandbox', 'comfyui', 'llamacpp', 'lmstudio', 'ollama', 'vllm']);

  test('says for each row of an outside service when it was last checked', async () => {
    const { rows, problems } = await checkFolder({ dir: shipped, usableUpstreams: () => true });
    assert.deepEqual(problems, []);
    const outside = rows.filter(({ upstreams }) => !own.has(upstreams[0]!.upstream));
    assert.ok(outside.length > 50);
    for (const { id, checked_on } of outside) assert.ok(checked_on !== null, id);
    for (const row of rows) if (!outside.includes(row)) assert.equal(row.checked_on, null, row.id);
  });
});
