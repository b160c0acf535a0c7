/**
 * The house rules that a linter cannot check, and the floors once more, so that a wrong import
 * fails here too. There are no exceptions: if one is needed, the rule changes, with its reason.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { budgets, checkBudgets, tightIn } from './layout/budget.ts';
import {
  checkCircles,
  checkClient,
  checkDeadFiles,
  checkFloors,
  checkPureCore,
} from './layout/imports.ts';
import {
  checkDependencies,
  checkDocsAreLinked,
  checkLinks,
  checkMigrations,
  checkMigrationsBeside,
  checkReleases,
  checkTestsAreRun,
} from './layout/papers.ts';
import {
  checkConstants,
  checkFunctionHomonyms,
  checkFunctionNames,
  checkHomonyms,
  checkSchemaWords,
  checkTypeNames,
} from './layout/names.ts';
import { readProject, type Project } from './layout/project.ts';
import {
  checkColumns,
  checkEnvironment,
  checkFunctionLengths,
  checkHooks,
  checkMachinePaths,
  checkNames,
  checkPlainWords,
  checkSqlRooms,
  checkTransactions,
  checkUnfinished,
} from './layout/text.ts';

type Files = Record<string, string>;

interface Rule {
  name: string;
  reason: string;
  check: (project: Project) => string[];
  /** Small projects that break the rule, by the beginning of the report. */
  broken: Record<string, Files>;
  /** Code that looks like a violation and is allowed. */
  kept: Files[];
}

const src = 'server/src/';
const lines = (count: number) => '  step();\n'.repeat(count);

const rules: Rule[] = [
  {
    name: 'imports go down only',
    reason: 'a floor can be read, tested and exchanged without those above it',
    check: checkFloors,
    broken: {
      [`${src}lib/a.ts:1 lib may not know core`]: { [`${src}lib/a.ts`]: "import '../core/b.ts';" },
      [`${src}core/a.ts:2 core may not know db`]: {
        [`${src}core/a.ts`]: "\nimport type { B } from '../db/b.ts';",
      },
      [`${src}db/a.ts:1 db may not know ledger`]: {
        [`${src}db/a.ts`]: "export { b } from '../ledger/b.ts';",
      },
      [`${src}upstreams/x/a.ts:1 upstreams may not know storage`]: {
        [`${src}upstreams/x/a.ts`]: "import { b } from '../../storage/b.ts';",
      },
      [`${src}operations/a.ts:1 operations may not know http`]: {
        [`${src}operations/a.ts`]: "const b = await import('../http/b.ts');",
      },
      [`${src}http/a.ts:1 http may not know worker`]: {
        [`${src}http/a.ts`]: "import {\n  b,\n} from '../worker/b.ts';",
      },
      [`${src}worker/a.ts:1 worker may not know the top floor`]: {
        [`${src}worker/a.ts`]: "import { config } from '../config.ts';",
      },
      [`${src}core/b.ts:1 core may not know what is outside`]: {
        [`${src}core/b.ts`]: "import { x } from '../../test/kit/x.ts';",
      },
      [`${src}http/b.ts:1 only operations may move money`]: {
        [`${src}http/b.ts`]: "import { openBooks } from '../ledger/ledger.ts';",
      },
    },
    kept: [
      { [`${src}core/a.ts`]: "import '../lib/b.ts'; // import '../db/b.ts';" },
      { [`${src}http/a.ts`]: "import '../db/b.ts';\nimport '../ledger/statement.ts';" },
      { [`${src}operations/a.ts`]: "import '../ledger/ledger.ts';" },
      { [`${src}app.ts`]: "import './http/b.ts';\nimport './worker/b.ts';" },
      { [`${src}core/a.test.ts`]: "import cases from '../../test/fixtures/x.json';" },
      { [`${src}core/a.ts`]: "import schema from '../../../catalog/schema.json';" },
      { [`${src}core/a.ts`]: 'const text = `import "../db/b.ts"`;' },
    ],
  },
  {
    name: 'the client ships alone',
    reason: 'what is published works where nothing else of this repository is',
    check: checkClient,
    broken: {
      'client/src/a.ts:1 the library may not know the service': {
        'client/src/a.ts': "import type { B } from '../../server/src/core/b.ts';",
      },
      'client/src/b.ts:1 the library may not know the command': {
        'client/src/b.ts': "await import('./cli/main.ts');",
      },
      'client/src/cli/a.ts:1 the command may not know the rest': {
        'client/src/cli/a.ts': "import '../../../bin/b.mjs';",
      },
      [`${src}http/a.ts:1 the service may not know the library`]: {
        [`${src}http/a.ts`]: "import '../../../client/src/index.ts';",
      },
      'web/src/a.ts:1 the pages may not know the service': {
        'web/src/a.ts': "import '../../server/src/core/errors.ts';",
      },
      [`${src}core/snippets.ts:1 the pages load this file, so it imports nothing`]: {
        [`${src}core/snippets.ts`]: "import '../lib/a.ts';",
      },
    },
    kept: [
      { 'client/src/cli/a.ts': "import '../index.ts';\nimport '../../package.json';" },
      {
        'web/src/a.ts':
          "import '../../server/src/core/snippets.ts';\nimport '../../client/src/a.ts';",
      },
      { [`${src}http/a.ts`]: "import '../../../openapi.json';" },
    ],
  },
  {
    name: 'no circle of modules',
    reason: 'one in a circle sees another half made, depending on who was loaded first',
    check: checkCircles,
    broken: {
      [`${src}db/a.ts → ${src}db/b.ts → ${src}db/c.ts → ${src}db/a.ts`]: {
        [`${src}db/a.ts`]: "import { b } from './b.ts';",
        [`${src}db/b.ts`]: "export * from './c.ts';",
        [`${src}db/c.ts`]: "import { a } from './a.ts';",
      },
      [`${src}db/d.ts → ${src}db/e.ts → ${src}db/d.ts`]: {
        [`${src}db/d.ts`]: "import { e } from './e.ts';",
        [`${src}db/e.ts`]: "import type { D } from './d.ts';",
      },
    },
    kept: [
      {
        [`${src}db/a.ts`]: "import type { B } from './b.ts';",
        [`${src}db/b.ts`]: "await import('./a.ts');",
      },
    ],
  },
  {
    name: 'no dead file',
    reason: 'what nothing reaches is read, kept in order and searched for nothing',
    check: checkDeadFiles,
    broken: {
      [`${src}core/b.ts is reached from no entry`]: {
        [`${src}main.ts`]: "import './core/a.ts';",
        [`${src}core/a.ts`]: '',
        [`${src}core/b.ts`]: '',
        [`${src}core/b.test.ts`]: "import './b.ts';",
      },
    },
    kept: [
      {
        'server/bin/farebox.mjs': "await import('../src/main.ts');",
        [`${src}main.ts`]: "import type { A } from './core/a.ts';",
        [`${src}core/a.ts`]: "new Worker(new URL('./b.ts', import.meta.url));",
        [`${src}core/b.ts`]: '',
      },
    ],
  },
  {
    name: 'core/ is pure',
    reason: 'rules that are functions of values are proven with tables, without a clock or a disk',
    check: checkPureCore,
    broken: {
      [`${src}core/a.ts:1 imports node:fs/promises`]: {
        [`${src}core/a.ts`]: "import { readFile } from 'node:fs/promises';",
      },
      [`${src}core/a.ts:2 uses Date.now(`]: { [`${src}core/a.ts`]: '\nconst now = Date.now();' },
      [`${src}core/a.ts:1 uses new Date()`]: { [`${src}core/a.ts`]: 'const now = new Date();' },
      [`${src}core/a.ts:1 uses Math.random(`]: { [`${src}core/a.ts`]: 'pick(Math.random());' },
    },
    kept: [
      {
        [`${src}core/a.ts`]:
          "import { createHash } from 'node:crypto';\nnew Date(ms); // Date.now()",
      },
      { [`${src}core/a.test.ts`]: 'const now = Date.now();' },
      { [`${src}db/a.ts`]: 'const now = Date.now();' },
    ],
  },
  {
    name: 'SQL only in db/, ledger/ and migrations/',
    reason: 'who changes a table has two rooms to read, not a whole service',
    check: checkSqlRooms,
    broken: {
      [`${src}http/a.ts:1 holds SQL`]: { [`${src}http/a.ts`]: 'db.run(sql`delete_it(${id})`);' },
      [`${src}core/a.ts:2 holds SQL`]: {
        [`${src}core/a.ts`]: "\nconst text = 'select id from requests';",
      },
      [`${src}worker/a.ts:1 holds SQL`]: {
        [`${src}worker/a.ts`]: 'q(`\n  update requests set status = ${s}`);',
      },
      [`${src}operations/a.ts:1 holds SQL`]: {
        [`${src}operations/a.ts`]: 'q(`with due as (${x}) y`);',
      },
      [`${src}lib/a.ts:1 holds SQL`]: { [`${src}lib/a.ts`]: "q('INSERT INTO t VALUES (1)');" },
      [`${src}app.ts:1 holds SQL`]: { [`${src}app.ts`]: "q('create table if not exists t ()');" },
      [`${src}main.ts:1 holds SQL`]: { [`${src}main.ts`]: 'q("delete from t");' },
    },
    kept: [
      { [`${src}db/a.ts`]: 'sql`select 1 from t`;', 'server/test/db/a.test.ts': 'sql`select 1`;' },
      { [`${src}commands/a.ts`]: "say('Select one from the list');\nsay('create an account');" },
      { [`${src}commands/a.ts`]: "say('with care');\nsay('update the catalog');" },
      { [`${src}http/a.ts`]: '// select id from requests' },
    ],
  },
  {
    name: 'transactions begin in operations/ or, without money and ends, in db/',
    reason: 'money and status are written together, in the one transaction of a verb',
    check: checkTransactions,
    broken: {
      [`${src}ledger/a.ts:1 begins a transaction`]: {
        [`${src}ledger/a.ts`]: 'return db.tx(async (tx) => tx.run(text));',
      },
      [`${src}upstreams/a.ts:1 begins a transaction`]: {
        [`${src}upstreams/a.ts`]: 'await db.tx<Row>(work);',
      },
      [`${src}http/a.ts:1 begins a transaction`]: { [`${src}http/a.ts`]: 'await db.tx(work);' },
      [`${src}worker/a.ts:1 begins a transaction`]: { [`${src}worker/a.ts`]: 'await db.tx(work);' },
      [`${src}db/a.ts:1 begins a transaction in a file that writes money or an end`]: {
        [`${src}db/a.ts`]: 'db.tx((tx) => tx.run(sql`update balances set debits_posted = 1`));',
      },
      [`${src}db/b.ts:1 begins a transaction in a file that writes money or an end`]: {
        [`${src}db/b.ts`]:
          "db.tx((tx) => tx.run(sql`update requests set slot = false, status = 'FAILED'`));",
      },
    },
    kept: [
      {
        [`${src}db/a.ts`]: 'db.tx((tx) => tx.run(sql`select id from files for update`));',
        [`${src}db/b.ts`]: 'tx.send(sql`update balances set debits_posted = 1`);',
        [`${src}operations/a.ts`]: 'db.tx((tx) => settle(tx));',
      },
    ],
  },
  {
    name: 'the environment is read in read-config.ts',
    reason: 'one table shows the operator every setting, and a test sets none by accident',
    check: checkEnvironment,
    broken: {
      [`${src}http/a.ts:1 reads the environment`]: {
        [`${src}http/a.ts`]: 'const port = process.env.PORT;',
      },
      [`${src}db/a.ts:1 reads the environment`]: { [`${src}db/a.ts`]: "process['env'].PORT;" },
      [`${src}lib/a.ts:1 takes env out of process`]: {
        [`${src}lib/a.ts`]: "import { env } from 'node:process';",
      },
    },
    kept: [
      { [`${src}read-config.ts`]: 'process.env.PORT', 'server/test/run.ts': 'process.env.PORT' },
      { [`${src}http/a.ts`]: "// process.env\nsay('process.env is read elsewhere');" },
    ],
  },
  {
    name: 'a name says what is inside',
    reason: 'a drawer for everything is opened by everyone and tidied by no one',
    check: checkNames,
    broken: {
      [`${src}lib/utils.ts says nothing`]: { [`${src}lib/utils.ts`]: '' },
      [`${src}http/helpers/a.ts says nothing`]: { [`${src}http/helpers/a.ts`]: '' },
      'server/test/kit/db-helper.ts says nothing': { 'server/test/kit/db-helper.ts': '' },
      'bench/common.ts says nothing': { 'bench/common.ts': '' },
    },
    kept: [{ [`${src}lib/uncommon.ts`]: '', [`${src}lib/commons.ts`]: '' }],
  },
  {
    name: 'words of schemas are read as `s.text`',
    reason: 'each file says a field in the same way, without a list of twenty imports',
    check: checkSchemaWords,
    broken: {
      [`${src}http/a.ts:1 takes single words`]: {
        [`${src}http/a.ts`]: "import { text } from './schemas/schema.ts';",
        [`${src}http/schemas/schema.ts`]: '',
      },
    },
    kept: [
      {
        [`${src}http/a.ts`]:
          "import * as s from './schemas/schema.ts';\nimport type { Static } from './schemas/schema.ts';",
        [`${src}http/schemas/schema.ts`]: '',
      },
    ],
  },
  {
    name: 'an exported function is not called by a bare participle',
    reason: 'at its call nobody sees what was done, and to what',
    check: checkFunctionNames,
    broken: {
      [`${src}http/a.ts:1 calls a function cleared`]: {
        [`${src}http/a.ts`]: 'export function cleared(): void {}',
      },
    },
    kept: [{ [`${src}http/a.ts`]: 'export async function read() {}\nfunction made() {}' }],
  },
  {
    name: 'a type is called by a noun',
    reason: 'a bare participle says that something was done, and not what it was done to',
    check: checkTypeNames,
    broken: {
      [`${src}a.ts:2 calls a type Wanted`]: { [`${src}a.ts`]: '\ninterface Wanted {}' },
      'web/src/a.ts:1 calls a type Told': { 'web/src/a.ts': 'export type Told = string;' },
      'client/src/a.ts:1 calls a type Waiting': { 'client/src/a.ts': 'class Waiting<T> {}' },
      'server/test/a.test.ts:1 calls a type Opened': {
        'server/test/a.test.ts': 'export interface Opened {}',
      },
    },
    kept: [
      { [`${src}a.ts`]: 'interface WantedModel {}\ntype Need = Setting;\nclass Reading {}' },
      { [`${src}a.ts`]: "// type Wanted\nimport { type Wanted } from 'x';\nsay('type Told');" },
    ],
  },
  {
    name: 'a name of an exported type of the service has one meaning',
    reason: 'a reader who knows a name does not look it up again',
    check: checkHomonyms,
    broken: {
      [`${src}db/a.ts:1 and ${src}core/a.ts:1 both export a type Claim`]: {
        [`${src}core/a.ts`]: 'export type Claim = string;',
        [`${src}db/a.ts`]: 'export interface Claim {}',
      },
    },
    kept: [
      {
        [`${src}core/a.ts`]: 'export type Claim = string;',
        [`${src}db/a.ts`]: 'type Claim = string;',
        [`${src}http/a.ts`]: 'export const Claim = {};',
        'client/src/a.ts': 'export type Claim = string;',
      },
    ],
  },
  {
    name: 'a name of an exported function has one meaning in its folder',
    reason: 'an editor that offers both makes the reader open both',
    check: checkFunctionHomonyms,
    broken: {
      [`${src}core/a.ts:1 and ${src}core/b.ts:1 both export a function load`]: {
        [`${src}core/b.ts`]: 'export function load() {}',
        [`${src}core/a.ts`]: 'export async function load() {}',
      },
    },
    kept: [
      {
        [`${src}db/a.ts`]: 'export function find() {}',
        [`${src}db/b.ts`]: 'export function find() {}',
        [`${src}core/a.ts`]: 'export function load() {}',
        [`${src}core/b.ts`]: 'function load() {}',
        [`${src}lib/a.ts`]: 'export function load() {}',
      },
    ],
  },
  {
    name: 'constants are in camelCase',
    reason: 'two ways to write one kind of name make a reader look for the difference',
    check: checkConstants,
    broken: {
      [`${src}a.ts:1 shouts LINES_MAX`]: { [`${src}a.ts`]: 'const LINES_MAX = 1;' },
      'web/src/a.ts:1 shouts USD': { 'web/src/a.ts': 'export const USD = 1;' },
    },
    kept: [
      { [`${src}a.ts`]: 'const linesMax = 1;\nexport const Row = {};\nconst { HOST } = settings;' },
      { [`${src}a.test.ts`]: "const TMPDIR = '/tmp';" },
    ],
  },
  {
    name: 'nothing unfinished',
    reason: 'a promise in a comment is kept by nobody',
    check: checkUnfinished,
    broken: {
      'docs/a.md:2 says': { 'docs/a.md': `\n${'TO'}${'DO'}: write this` },
      [`${src}a.ts:1 says`]: { [`${src}a.ts`]: `// ${'FIX'}${'ME'} later` },
    },
    kept: [{ 'docs/a.md': 'Methodology, todos, FIXMEUP' }],
  },
  {
    name: 'texts and comments are in plain words',
    reason: 'a sentence without a subject is read twice',
    check: checkPlainWords,
    broken: {
      [`${src}http/a.ts:1 begins with "What"`]: {
        [`${src}http/a.ts`]: "say('What it cost is booked.');",
      },
      [`${src}http/a.ts:1 begins with "Of"`]: {
        [`${src}http/a.ts`]: 'say(`Of ${key} the newest.`);',
      },
      [`${src}core/a.ts:2 says "any more`]: {
        [`${src}core/a.ts`]: "\nsay('It is not kept any more.');",
      },
      [`${src}core/a.ts:1 begins with "Who"`]: {
        [`${src}core/a.ts`]: '/**\n * In order. Who pays\n * waits. Then more.\n */',
      },
      [`${src}core/a.ts:2 begins with "Of"`]: { [`${src}core/a.ts`]: '\n// Of two, one.' },
      'client/src/cli/a.ts:1 begins with "Whoever"': {
        'client/src/cli/a.ts': 'say("Whoever opens it signs in.");',
      },
      'web/src/a.tsx:1 begins with "Such"': {
        'web/src/a.tsx': "const words = { a: 'Such a key' };",
      },
      'tools/a/a.ts:1 says "anew': { 'tools/a/a.ts': "say('begin anew');" },
      'web/src/a-texts.ts:1 begins with "What": write a sentence with a subject, or ask a question':
        { 'web/src/a-texts.ts': "const words = { a: 'What each of your keys costs' };" },
      'web/src/b-texts.ts:1 begins with "What"': {
        'web/src/b-texts.ts': "const words = { a: 'What it cost.' };",
      },
      'server/test/a.test.ts:1 begins with "What"': { 'server/test/a.test.ts': '// What it cost.' },
    },
    kept: [
      { [`${src}http/a.ts`]: "say('What did it cost?');\nsay('Office hours');" },
      { [`${src}http/a.ts`]: "// Why? What is it?\nsay('Of');" },
      { 'web/src/a-texts.ts': "const words = { a: 'What your keys cost' };" },
      { [`${src}http/a.test.ts`]: "// One of two.\ntest('What it cost is booked', run);" },
    ],
  },
  {
    name: 'no path of one machine',
    reason: 'a clone stands alone, wherever it lies',
    check: checkMachinePaths,
    broken: {
      'docs/a.md:1 points at': { 'docs/a.md': `see ${['', 'work', 'plan.md'].join('/')}` },
      'README.md:1 points at': { 'README.md': `[plan](${['..', 'shared', 'p.md'].join('/')})` },
      [`${src}a.ts:1 points at`]: { [`${src}a.ts`]: `read('${['', 'home', 'x', 'y'].join('/')}')` },
    },
    kept: [{ 'docs/a.md': 'https://example.com/home/x, ./work/x, server/work/x, `/root`' }],
  },
  {
    name: 'at most 100 columns in server/src',
    reason: 'two files fit side by side on one screen',
    check: checkColumns,
    broken: { [`${src}a.ts:2 has 101 columns`]: { [`${src}a.ts`]: `\n//${'x'.repeat(99)}` } },
    kept: [{ [`${src}a.ts`]: `${'é'.repeat(100)}\n`, 'server/test/a.ts': 'x'.repeat(101) }],
  },
  {
    name: 'at most 70 lines a function',
    reason: 'what does not fit on a screen is not seen whole',
    check: checkFunctionLengths,
    broken: {
      [`${src}a.ts:1 is a function of 72 lines`]: {
        [`${src}a.ts`]: `function f(a: { b: 1 }): { c: 2 } {\n${lines(70)}}`,
      },
      [`${src}b.ts:2 is a function of 71 lines`]: {
        [`${src}b.ts`]: `const x: A =\n  async <T>(a: T) => {\n${lines(69)}};`,
      },
      'web/src/a.tsx:1 is a function of 112 lines': {
        'web/src/a.tsx': `function A() {\n${lines(110)}}`,
      },
      [`${src}c.ts:2 is a function of 71 lines`]: {
        [`${src}c.ts`]: `class C {\n  get #it(): { d: 3 } {\n${lines(69)}}\n}`,
      },
    },
    kept: [
      { 'web/src/a.tsx': `function A() {\n${lines(108)}}` },
      { [`${src}a.ts`]: `function f() {\n${lines(68)}}` },
      { [`${src}a.ts`]: `function f() {\n  return [\n${"    ['GET', '/'],\n".repeat(90)}  ];\n}` },
      { [`${src}a.ts`]: `for (const a of b) {\n${lines(90)}}\nif (a(b)) {\n${lines(90)}}` },
      { [`${src}a.ts`]: `interface A {\n${'  a: () => void;\n'.repeat(90)}}` },
      { [`${src}a.test.ts`]: `describe('a', () => {\n${lines(90)}});` },
    ],
  },
  {
    name: 'each room keeps to its budget of lines',
    reason: 'every line is read by everyone who comes after',
    check: checkBudgets,
    broken: {
      'all rooms of server/src have ': Object.fromEntries(
        Object.entries(budgets)
          .filter(([room]) => room.startsWith('server/src'))
          .map(([room, lines]) => [`${room}/a.ts`, 'a();\n'.repeat(lines)]),
      ),
      'tools has 100000 lines, ': { 'tools/a.ts': 'a();\n'.repeat(100_000) },
      'server/src/cellar has 1 lines and no budget': { [`${src}cellar/a.ts`]: 'a();\n' },
    },
    kept: [{ 'tools/a.ts': 'a();\n', 'web/src/api-types.ts': 'a();\n'.repeat(100_000) }],
  },
  {
    name: 'migrations are numbered without a gap',
    reason: 'two that took the same number, or one that got lost, show here and not in production',
    check: checkMigrations,
    broken: {
      'server/migrations/0003_b.sql should be 0002': {
        'server/migrations/0001_a.sql': '',
        'server/migrations/0003_b.sql': '',
      },
      'server/migrations/0001_b.sql should be 0002': {
        'server/migrations/0001_a.sql': '',
        'server/migrations/0001_b.sql': '',
      },
      'server/migrations/0001-A.sql should be 0001': { 'server/migrations/0001-A.sql': '' },
    },
    kept: [{ 'server/migrations/0001_a.sql': '', 'server/migrations/0002_b2.sql': '' }],
  },
  {
    name: 'migrations run beside the version before',
    reason: 'an upgrade that stops calls, or old code, is noticed by every customer',
    check: checkMigrationsBeside,
    broken: {
      'server/migrations/9999_a.sql: "create index i on a (b)" stops calls; write CREATE INDEX CONCURRENTLY':
        { 'server/migrations/9999_a.sql': 'create index i on a (b);' },
      'server/migrations/9999_a.sql: "alter table a drop column b": code of the version before may still use it. Let it wait for a later release, with the line "-- contract: since RELEASE": the release whose code no longer needs it':
        { 'server/migrations/9999_a.sql': 'alter table a drop column b;' },
      'server/migrations/9999_a.sql: there is no release 0.1.9: ': {
        'server/migrations/9999_a.sql': '-- contract: since 0.1.9\n\nalter table a drop column b;',
      },
    },
    kept: [
      {
        'server/migrations/0063_a.sql': 'alter table a drop column b;',
        'server/migrations/9998_a.sql': '-- contract: since 0.2.0\n\nalter table a drop column b;',
        'server/migrations/9999_a.sql':
          'alter table a add column b text;\ncreate index concurrently i on a (b);',
      },
    ],
  },
  {
    name: 'each release has its newest migration',
    reason: 'a migration that takes something away names the release that no longer uses it',
    check: checkReleases,
    broken: {
      'db/migration/rule.ts does not say which migration is the newest of 9.9.9': {
        'CHANGELOG.md': '## [Unreleased]\n## [9.9.9] - 2030-01-01\n## [0.2.0]\n',
      },
    },
    kept: [{ 'CHANGELOG.md': '## [Unreleased]\n## [0.2.0] - 2026-11-29\n' }],
  },
  {
    name: 'every link leads somewhere',
    reason: 'a reader who meets one dead link stops trusting the others',
    check: checkLinks,
    broken: {
      'README.md:2 leads to no docs/a.md': { 'README.md': '\n[a](docs/a.md)' },
      'docs/a.md:1 leads to no b.md': { 'docs/a.md': '[b]: ../b.md' },
      'docs/a.md:4 docs/b.md has no #second': {
        'docs/a.md': '```\nx\n```\n[b](b.md#second)',
        'docs/b.md': '# First\n\n```\n# Second\n```\n',
      },
      'README.md:1 README.md has no #no': { 'README.md': '[x](#no)' },
      'docs/a.md:1 leads to no docs/p.svg': { 'docs/a.md': '<img src="p.svg">' },
    },
    kept: [
      {
        'README.md':
          '[w](https://example.com/x) [a](docs/a.md#what-a-b-is) [d](docs/) `[c](none.md)`\n\n' +
          '```\n[d](none.md)\n```\n[up](#here-1)\n## Here\n## Here\n',
        'docs/a.md': '# What `A b` is?',
      },
    ],
  },
  {
    name: 'every page of docs/ is linked',
    reason: 'a page without a way to it is found by accident',
    check: checkDocsAreLinked,
    broken: {
      'docs/b.md is linked from nowhere': {
        'README.md': '[a](docs/a.md)',
        'docs/a.md': '',
        'docs/b.md': '[myself](b.md)',
      },
    },
    kept: [{ 'README.md': '![a](./docs/a.svg "A")', 'docs/a.svg': '' }],
  },
  {
    name: 'every dependency says why',
    reason: 'a package is code we answer for without having written it',
    check: checkDependencies,
    broken: {
      'docs/dependencies.md does not say why there is pg': {
        'server/package.json': '{"name":"farebox","dependencies":{"pg":"1.0.0"}}',
        'docs/dependencies.md': 'pg: a database',
      },
      'docs/dependencies.md has a line too many for zod': {
        'package.json': '{"name":"root"}',
        'docs/dependencies.md': '| `zod` | checks |',
      },
    },
    kept: [
      {
        'package.json': '{"name":"root","devDependencies":{"@a/b":"1.0.0","farebox":"*"}}',
        'server/package.json': '{"name":"farebox"}',
        'docs/dependencies.md': '| `@a/b` | reason |',
      },
    ],
  },
  {
    name: 'hooks of a file with a service wait for each other',
    reason: 'those of node:test begin all at once, before the service runs',
    check: checkHooks,
    broken: {
      'server/test/a.test.ts takes before from node:test': {
        'server/test/a.test.ts':
          "import { before, test } from 'node:test';\nconst { service } = withService();\n",
      },
      'web/test/b.test.ts takes before from node:test': {
        'web/test/b.test.ts':
          "import {\n  after,\n  before as first,\n} from 'node:test';\nwithWebService();\n",
      },
    },
    kept: [
      { 'server/test/a.test.ts': "import { before } from 'node:test';\nstartService();\n" },
      {
        'server/test/b.test.ts':
          "import { beforeEach } from 'node:test';\nimport { before } from './kit/with-service.ts';\nwithService();\n",
      },
    ],
  },
  {
    name: 'every test is run',
    reason: 'a test that nobody starts is green for ever',
    check: checkTestsAreRun,
    broken: {
      'catalog/a.test.ts is a test': { 'catalog/a.test.ts': '' },
      'server/test/a.spec.ts is a test': { 'server/test/a.spec.ts': '' },
      'server/src/a.test.js is a test': { 'server/src/a.test.js': '' },
    },
    kept: [{ 'server/src/core/a.test.ts': '', 'bench/b.test.ts': '' }],
  },
];

describe('the repository keeps its rules', () => {
  const project = readProject(path.resolve(import.meta.dirname, '../..'));
  for (const { name, reason, check } of rules) {
    test(`${name}: ${reason}`, () => {
      const breaches = check(project);
      if (breaches.length > 0) throw plainError(breaches.join('\n'));
    });
  }
});

describe('each rule can fail', () => {
  for (const { name, check, broken, kept } of rules) {
    for (const [breach, files] of Object.entries(broken)) {
      test(`${name}: finds ${breach}`, () => {
        const found = check(projectOf(files));
        assert.equal(found.length, 1, found.join('\n'));
        assert.ok(found[0]!.startsWith(breach), found[0]);
      });
    }
    test(`${name}: says nothing where there is nothing`, () => {
      for (const files of kept) assert.deepEqual(check(projectOf(files)), []);
    });
  }
});

test('what has little room left is named: a room, and all rooms of a workspace', () => {
  const files = { [`${src}core/a.ts`]: 'a();\n'.repeat(90), [`${src}db/a.ts`]: 'a();\n' };
  const rooms = { 'server/src/core': 100, 'server/src/db': 100 };
  assert.deepEqual(tightIn(projectOf(files), rooms, { 'server/src': 110 }), [
    'server/src/core: 10 of 100 lines left',
    'server/src, all rooms: 19 of 110 lines left',
  ]);
  assert.deepEqual(tightIn(projectOf(files), { ...rooms, 'server/src/core': 200 }, {}), []);
});

/** Printed as these lines alone: where a rule is checked helps nobody who has broken it. */
function plainError(lines: string): Error {
  const error = new Error(lines);
  error.stack = lines;
  return error;
}

function projectOf(files: Files): Project {
  return new Map(Object.entries(files));
}
