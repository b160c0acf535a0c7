/** Compares the pages of docs/ with the code that they describe. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { generatedFiles } from '../src/commands/generate.ts';
import { endpointVariable } from '../src/core/deposit/chain.ts';
import { readConfig } from '../src/read-config.ts';
import { passingFields } from '../src/core/chat/chat.ts';
import { optionalNames } from '../src/core/chat/optional-fields.ts';
import { errors, failures } from '../src/core/errors.ts';
import { isFinal, statuses } from '../src/core/request/request.ts';
import { falCalls } from '../src/http/fal/routes.ts';
import { documentedPath } from '../src/http/openapi.ts';
import { routes } from '../src/http/routes.ts';
import { laws } from '../src/ledger/laws.ts';
import { apiPages } from './kit/api-pages.ts';
import { findOperation, resolve, schemaFault } from './kit/openapi.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const api = [...apiPages, read('docs/api/callbacks.md')].join('\n');
const states = read('docs/states.md');

describe('generated files', () => {
  for (const [path, text] of generatedFiles()) {
    test(`${path} is what "npm run generate" writes`, () => {
      assert.equal(read(path), text, `${path} is stale: run "npm run generate" and commit it`);
    });
  }
});

describe('docs/clients.md', () => {
  const [, table] = /^(\| tool \| state [^]*?)\n\n/m.exec(read('docs/clients.md'))!;
  const rows = table!.split('\n').slice(2);

  test('names for each tool the test that runs it, or says that none does', () => {
    assert.ok(rows.length > 10);
    for (const row of rows) {
      const [, tool = '', state = '', , by = ''] = row.split('|').map((cell) => cell.trim());
      const [, file] = /^`([\w/.-]+\.test\.ts)`/.exec(by) ?? [];
      if (state === 'not offered') assert.equal(by, '–', tool);
      else if (file === undefined)
        assert.deepEqual([state, by], ['should work', 'settings only'], tool);
      else assert.match(read(`server/test/${file}`), packageOf(tool), tool);
    }
  });

  /** The package name that a test of this tool has to mention. */
  function packageOf(tool: string): RegExp {
    const [, name] = /`(@[\w-]+\/[\w-]+)/.exec(tool) ?? [];
    const word = name ?? /OpenAI Agents|OpenAI|LangChain|fal|Codex|Anthropic/.exec(tool)?.[0];
    return new RegExp(word ?? 'coding agent');
  }
});

describe('docs/errors.md', () => {
  const page = read('docs/errors.md');

  test('explains every code of the catalogue, and no other', () => {
    const sections = [...page.matchAll(/^### (\w+)\n\n(\d+) · `(\w+)`/gm)];
    const told = sections.map(([, code, status, type]) => [code, Number(status), type]);
    const known = Object.entries(errors).map(([code, { status, type }]) => [code, status, type]);
    assert.deepEqual(told, known);
  });

  test('explains every failure of an accepted request, and no other', () => {
    const part = page.slice(page.indexOf('## Failures of accepted requests'));
    const told = [...part.matchAll(/^\| `(\w+)` \| \S.* \| \S.* \|$/gm)].map(([, code]) => code);
    assert.deepEqual(told, ['error.code', ...Object.keys(failures)].slice(1));
  });

  test('says of each when it comes, what to do and from where', () => {
    const parts = page.split(/^### /m).slice(1);
    assert.equal(parts.length, Object.keys(errors).length);
    for (const part of parts) {
      assert.match(
        part,
        /\*\*When:\*\* \S.*\n\n\*\*What to do:\*\* \S.*\n\n\*\*From:\*\* \S.*\.\n/,
      );
    }
  });
});

describe('docs/configuration.md', () => {
  test('lists every setting and no other', () => {
    const page = read('docs/configuration.md');
    const told = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)];
    assert.deepEqual(
      told.map(([, name]) => name),
      // `variable` is the function that reads the catalog's variables.
      Object.keys(readConfig({})).filter((name) => name !== 'variable'),
    );
    const endpoints = endpointVariable('<name>');
    for (const name of [endpoints, `${endpoints}_KEY`])
      assert.ok(page.includes(`\n| \`${name}\` | unset |`), name);
  });
});

describe('docs/api/', () => {
  const table = routes.filter(({ who }) => who !== 'operator');
  const sections = api.split(/^## /m).slice(1);

  test('has a section for every route, and none for what does not exist', () => {
    const told = sections.map((section) => /^`(\w+ \S+)`\n/.exec(section)?.[1]).filter(Boolean);
    const rows = table.map((route) => `${route.method} ${documentedPath(route)}`);
    // The section of an address's first method also describes the second.
    const own = rows.filter((row) => !row.startsWith('PUT '));
    assert.deepEqual(told.sort(), own.sort());
    for (const row of rows) assert.ok(api.includes(`\`${row}\``), row);
  });

  test('calls only addresses that exist', () => {
    const calls = [...api.matchAll(/(?:\$BASE|http:\/\/localhost:8080)(\/[^\s"?\\]*)/g)];
    assert.ok(calls.length > 15);
    for (const [call, path] of calls) {
      const outside = call.startsWith('http') ? '' : '/v1';
      const found = ['GET', 'POST'].some((method) => {
        const operation = findOperation(method, `${outside}${path!.replace('$REQUEST_ID', 'x')}`);
        return typeof operation !== 'string';
      });
      assert.ok(found || path === '/v1', call);
    }
  });

  test('shows replies that fit their schema', () => {
    let seen = 0;
    for (const section of sections) {
      const [, method, path] = /^`(\w+) (\S+)`\n/.exec(section) ?? [];
      for (const [, status, text] of section.matchAll(/^```json (\d+)\n([\s\S]*?)^```$/gm)) {
        seen++;
        const outside = ['/livez', '/readyz', '/metrics'].includes(path!);
        const found = findOperation(
          method!,
          `${outside ? '' : '/v1'}${path!.replace(/[{}]/g, '')}`,
        );
        assert.ok(typeof found !== 'string', `${method} ${path}`);
        const response = resolve(found.operation.responses[status!]!) as any;
        const wrong = schemaFault(
          response.content['application/json'].schema,
          JSON.parse(text!),
          true,
        );
        assert.equal(wrong, null, `${method} ${path}`);
      }
    }
    assert.equal(seen, 20);
  });

  test('sends only JSON that parses', () => {
    const bodies = [...api.matchAll(/-d '([^']*)'/g)];
    assert.ok(bodies.length >= 3);
    for (const [, body] of bodies) JSON.parse(body!);
  });

  test('names every chat field that goes to the model', () => {
    for (const field of [...Object.keys(passingFields), ...optionalNames])
      assert.ok(api.includes(`\`${field}\``), field);
  });

  test('names only codes that exist', () => {
    const lists = [...api.matchAll(/Errors: ([^.]+)\./g)].map(([, list]) => list!);
    assert.equal(lists.length, 7);
    for (const [, code] of lists.join(' ').matchAll(/`(\w+_\w+)`/g)) {
      assert.ok(Object.hasOwn(errors, code!), code);
    }
  });
});

describe('docs/operating/api.md', () => {
  const page = read('docs/operating/api.md');

  test('lists every call of the operator\u2019s API with its scope, and no other', () => {
    const told = [...page.matchAll(/^\| `(\w+)` \| (`[A-Z].*) \|$/gm)].flatMap(([, scope, calls]) =>
      [...calls!.matchAll(/`(\w+ \S+)`/g)].map(([, call]) => `${scope} ${call}`),
    );
    const known = routes.flatMap((route) =>
      route.who === 'operator' ? [`${route.scope} ${route.method} ${documentedPath(route)}`] : [],
    );
    assert.deepEqual(told.sort(), known.sort());
  });

  test('shows a reply that fits its schema', () => {
    const shown = [...page.matchAll(/^```json (\w+) (\S+) (\d+)\n([\s\S]*?)^```$/gm)];
    assert.equal(shown.length, 1);
    for (const [, method, path, status, text] of shown) {
      const found = findOperation(method!, `/v1${path!.replace(/[{}]/g, '')}`);
      assert.ok(typeof found !== 'string', path);
      const { content } = resolve(found.operation.responses[status!]!) as any;
      assert.equal(schemaFault(content['application/json'].schema, JSON.parse(text!), true), null);
    }
  });
});

test('docs/ledger.md lists every law that the audit proves', () => {
  const page = read('docs/ledger.md');
  const list = page.slice(page.indexOf('names the first rows that break a law:')).split('\n\n')[1]!;
  assert.deepEqual(
    list.split('\n'),
    laws.map(({ says }) => `- ${says}`),
  );
});

test('docs/fal-client.md lists every path of the door for fal, and no other', () => {
  const page = read('docs/fal-client.md');
  const told = [...page.matchAll(/^\| (\w+) \| `(\/fal\/[^`?]+)/gm)].map(
    ([, method, path]) => `${method} ${path}`,
  );
  const ofFal = routes.filter(({ path }) => path.startsWith('/fal/'));
  const known = [...falCalls, ...ofFal].map((call) => {
    const path = documentedPath(call).replace(/(\{namespace\}\/)?\{owner\}\/\{alias\}/, '{app}');
    // The page names the other names of the hosts below its table.
    const usual = path.replace('fal.dev/', 'fal.run/').replace(/rest\.(alpha|shark)\./, 'rest.');
    return `${call.method} ${usual}`;
  });
  assert.deepEqual(told.sort(), [...new Set(known)].sort());
});

describe('the models that the pages use', () => {
  const folder = new URL('catalog/', root);
  const files = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
  const ids = new Set(
    files.flatMap((name) => {
      const file = parse(readFileSync(new URL(name, folder), 'utf8')) as {
        models: { id: string }[];
      };
      return file.models.map(({ id }) => id);
    }),
  );
  for (const [page, text] of Object.entries({ 'README.md': read('README.md'), 'docs/api/': api })) {
    test(`${page} calls models of the catalog`, () => {
      const inPath = /\$BASE\/(?:queue|models)\/([^\s"?]+)/g;
      const inBody = /"model(?:_id)?":"([^"]+)"/g;
      const used = [...text.matchAll(inPath), ...text.matchAll(inBody)].map(([, id]) => id!);
      assert.ok(used.length >= 3);
      for (const id of used) assert.ok(ids.has(id), `${id} is in no file of catalog/`);
    });
  }
});

describe('docs/states.md', () => {
  const edges = [...states.matchAll(/^ {2}(\S+) --> (\S+?)(?::.*)?$/gm)].map(
    ([, from, to]) => `${from} → ${to}`,
  );
  const rows = [...states.matchAll(/^\| (none|`\w+`) \| .* \| `(\w+)` \| .* \|$/gm)];

  test('draws the transitions that the table explains', () => {
    const drawn = new Set(edges.filter((edge) => !edge.endsWith('[*]')));
    const told = new Set(
      rows.map(([, from, to]) => `${from === 'none' ? '[*]' : from!.replaceAll('`', '')} → ${to}`),
    );
    assert.deepEqual([...told].sort(), [...drawn].sort());
  });

  test('knows every status, and ends in the final ones only', () => {
    const ends = edges.filter((edge) => edge.endsWith('→ [*]')).map((edge) => edge.split(' ')[0]);
    assert.deepEqual(ends, statuses.filter(isFinal));
    for (const status of statuses) {
      const leaves = edges.some((edge) => edge.startsWith(`${status} → `) && !edge.endsWith('[*]'));
      assert.equal(leaves, !isFinal(status), status);
    }
  });

  test('names every reason of a failure', () => {
    for (const code of Object.keys(failures)) assert.ok(states.includes(`(\`${code}\`)`), code);
  });
});
