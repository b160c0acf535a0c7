/** Compares the pages of docs/ with the code that they describe. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { generatedFiles } from '../src/commands/generate.ts';
import { endpointVariable } from '../src/core/deposit/chain.ts';
import { readConfig } from '../src/read-config.ts';
import { passingFields } from '../src/core/apis/completions/read-call.ts';
import { optionalNames } from '../src/core/chat/optional-fields.ts';
import { errors, failures } from '../src/core/errors.ts';
import { isFinal, statuses } from '../src/core/request/request.ts';
import { falCalls } from '../src/http/fal/routes.ts';
import { readProse } from '../src/http/docs/prose.ts';
import { codesOf } from '../src/http/docs/failures.ts';
import { callOf, documentedPath } from '../src/http/openapi.ts';
import { routes } from '../src/http/routes.ts';
import { laws } from '../src/ledger/laws.ts';
import { apiPages, operatorPages } from './kit/api-pages.ts';
import { findOperation } from './kit/openapi.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const api = [...apiPages, ...operatorPages].join('\n');
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
      else assert.match(read(file), packageOf(tool), tool);
    }
  });

  /** The package name that a test of this tool has to mention. */
  function packageOf(tool: string): RegExp {
    const [, name] = /`(@[\w-]+\/[\w-]+)/.exec(tool) ?? [];
    const word =
      name ?? /OpenAI Agents|OpenAI|LangChain|fal|Replicate|Codex|Anthropic/.exec(tool)?.[0];
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
      // `variable` reads the catalog's variables, `given` says where settings come from.
      Object.keys(readConfig({})).filter((name) => !['variable', 'given'].includes(name)),
    );
    const endpoints = endpointVariable('<name>');
    for (const name of [endpoints, `${endpoints}_KEY`])
      assert.ok(page.includes(`\n| \`${name}\` | unset |`), name);
  });
});

describe('docs/api/', () => {
  const { calls } = readProse();

  test('calls only addresses that exist', () => {
    const found = [...api.matchAll(/(?:\$BASE|http:\/\/localhost:8080)(\/[^\s"?\\]*)/g)];
    assert.ok(found.length > 15);
    for (const [call, path] of found) {
      const outside = call.startsWith('http') ? '' : '/v1';
      const isKnown = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].some((method) => {
        const operation = findOperation(method, `${outside}${path!.replace(/\$\w+/g, 'x')}`);
        return typeof operation !== 'string';
      });
      assert.ok(isKnown || /^(\/replicate)?\/v1'?$/.test(path!), call);
    }
  });

  test('names every chat field that goes to the model', () => {
    for (const field of [...Object.keys(passingFields), ...optionalNames])
      assert.ok(api.includes(`\`${field}\``), field);
  });

  test('names no error that the call does not have', () => {
    let seen = 0;
    for (const route of routes) {
      const { description } = calls.get(callOf(route))!;
      const [, list = ''] = /Errors: ([^.]+)\./.exec(description) ?? [];
      for (const [, code] of list.matchAll(/`(\w+_\w+)`/g)) {
        // The text of a code may name reasons, too.
        if (!Object.hasOwn(errors, code!)) continue;
        seen++;
        assert.ok(codesOf(route).includes(code as keyof typeof errors), `${callOf(route)} ${code}`);
      }
    }
    assert.ok(seen > 20, `only ${seen} codes were found`);
  });
});

test('the pages of the operator’s API list every call with its scope, and no other', () => {
  const page = operatorPages.join('\n');
  const told = [...page.matchAll(/^\| `(\w+)` \| (`[A-Z].*) \|$/gm)].flatMap(([, scope, calls]) =>
    [...calls!.matchAll(/`(\w+ \S+)`/g)].map(([, call]) => `${scope} ${call}`),
  );
  const known = routes.flatMap((route) =>
    route.who === 'operator' ? [`${route.scope} ${callOf(route)}`] : [],
  );
  assert.deepEqual(told.sort(), known.sort());
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
