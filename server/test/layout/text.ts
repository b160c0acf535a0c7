/** Checks the contents of files, and the length of functions. */
import { stripTypeScriptTypes } from 'node:module';
import { place } from './imports.ts';
import { isTest, sources, type Project } from './project.ts';
import { lineAt, scan } from './source.ts';

const columnsMax = 100;
const longTextMin = 30;
const functionLinesMax = 70;
/** The markup of a page is read from top to bottom, as a table is. */
const webFunctionLinesMax = 110;

const sqlRooms = /^(server\/src\/(db|ledger)|server\/migrations|server\/test|bench)\//;
const sqlBegins =
  /^\s*(select\s+(?:[^]*\sfrom\s|[\d']|\w+\()|insert\s+into\s|update\s+[\w."]+\s+(?:as\s+\w+\s+)?set\s|delete\s+from\s|with\s+(?:recursive\s+)?\w+\s*(?:\([^)]*\)\s*)?as\s|create\s+(?:(?:or\s+replace|unique|unlogged|temp|temporary)\s+)*(?:table|index|database|schema|role|user|extension|function|view|type|trigger)\s)/i;

export function checkSqlRooms(project: Project): string[] {
  return sources(project, /^(server|bin|client|web)\//)
    .filter(({ path }) => !sqlRooms.test(path) && !isTest(path))
    .flatMap((source) =>
      source.literals
        .filter(({ tag, text }) => tag === 'sql' || isSql(text))
        .map(({ start }) => `${place(source, start)} holds SQL`),
    );
}

// A sentence begins with one capital letter; SQL is all in lower or upper case.
function isSql(text: string): boolean {
  return sqlBegins.test(text) && !/^\s*[A-Z][a-z]/.test(text);
}

const moneyTables = /\b(update|insert\s+into|delete\s+from)\s+(balances|transfers|key_usage)\b/i;
const finalStatus = /\bset\s+(?:[^;]*\s)?status\s*=\s*'(COMPLETED|FAILED|CANCELLED)'/i;

/**
 * A room of `db/` may begin a transaction, for a count that needs a lock, but then writes neither
 * money nor a final status.
 */
export function checkTransactions(project: Project): string[] {
  return sources(
    project,
    /^server\/src\/(db|ledger|upstreams|storage|catalog|chains|http|worker)\//,
  )
    .filter(({ path }) => !isTest(path) && path !== 'server/src/http/database-share.ts')
    .flatMap((source) => {
      const begins = [...source.code.matchAll(/\.tx\s*[(<]/g)];
      const isDb = source.path.startsWith('server/src/db/');
      const written = source.literals.filter(
        ({ text }) => moneyTables.test(text) || finalStatus.test(text),
      );
      if (isDb && written.length === 0) return [];
      return begins.map((match) => {
        const at = place(source, match.index);
        return `${at} begins a transaction${isDb ? ' in a file that writes money or an end' : ''}`;
      });
    });
}

export function checkEnvironment(project: Project): string[] {
  return sources(project, /^server\/src\//)
    .filter(({ path }) => path !== 'server/src/read-config.ts' && !isTest(path))
    .flatMap((source) => [
      ...[...source.code.matchAll(/\bprocess\s*(?:\??\.\s*env\b|(?:\?\.\s*)?\[)/g)].map(
        (match) => `${place(source, match.index)} reads the environment`,
      ),
      ...[...source.code.matchAll(/\{[^{}]*\benv\b[^{}]*\}\s*(?:=\s*process\b|from\b)/g)].map(
        (match) => `${place(source, match.index)} takes env out of process`,
      ),
    ]);
}

export function checkNames(project: Project): string[] {
  return [...project.keys()]
    .filter((file) => /^(server|bench|bin|client|tools|web)\//.test(file))
    .filter((file) => /(^|[/._-])(utils?|helpers?|common|shared|misc)([/._-]|$)/i.test(file))
    .map((file) => `${file} says nothing about what is in it`);
}

// Built from parts, so that this file and its test do not match.
const unfinished = new RegExp(
  `\\b(${[
    ['TO', 'DO'],
    ['FIX', 'ME'],
  ]
    .map((word) => word.join(''))
    .join('|')})\\b`,
  'g',
);
const elsewhere = /(?<![\w.}])\/(?:work|home|root|Users)\/|\.\.\/shared\b|\b[A-Z]:\\+Users/g;

/** `withService` opens the service in a hook, which only hooks of the kit wait for. */
export function checkHooks(project: Project): string[] {
  return [...project]
    .filter(([file]) => isTest(file))
    .filter(([, text]) => /\bwith\w*Service\(/.test(text))
    .filter(([, text]) => /^import \{[^}]*\bbefore\b[^}]*\} from 'node:test'/m.test(text))
    .map(([file]) => `${file} takes before from node:test: take it from the kit's with-service.ts`);
}

export function checkUnfinished(project: Project): string[] {
  return findAll(project, unfinished).map(([where, what]) => `${where} says ${what}`);
}

export function checkMachinePaths(project: Project): string[] {
  return findAll(project, elsewhere).map(([where, what]) => `${where} points at ${what}`);
}

function findAll(project: Project, pattern: RegExp): [string, string][] {
  return [...project]
    .filter(([file]) => !file.endsWith('package-lock.json'))
    .flatMap(([file, text]) =>
      [...text.matchAll(pattern)].map((match): [string, string] => [
        `${file}:${lineAt(text, match.index)}`,
        match[0],
      ]),
    );
}

const badOpening = /(?:^|[.!?:] )(Who|What|Of|Such|That which|Whoever)\b(?![^.]*\?)/;
const badWord = /\b(?:anew|lest|comes of it|at hand|any more|dearest|sisters|whoever)\b/i;
const headingWordsMax = 5;

/** Checks comments and, outside of tests, literals of several words, but not headings of pages. */
export function checkPlainWords(project: Project): string[] {
  return sources(project, /^(server|client|web|tools|bench|bin)\//).flatMap((source) => {
    const literals = isTest(source.path)
      ? []
      : source.literals.filter(({ text }) => text.includes(' '));
    return [...literals, ...source.comments].flatMap(({ start, text }) => {
      const opening = isHeading(source.path, text) ? null : badOpening.exec(text);
      const fault = opening
        ? `begins with "${opening[1]}": write a sentence with a subject, or ask a question`
        : badWord.test(text) && `says "${badWord.exec(text)![0]}"`;
      return fault ? [`${place(source, start)} ${fault}`] : [];
    });
  });
}

function isHeading(file: string, text: string): boolean {
  return (
    file.endsWith('-texts.ts') && !text.includes('.') && text.split(' ').length <= headingWordsMax
  );
}

export function checkColumns(project: Project): string[] {
  return sources(project, /^server\/src\//).flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const columns = [...withoutLongText(line)].length;
      return columns > columnsMax ? [`${path}:${index + 1} has ${columns} columns`] : [];
    }),
  );
}

export function checkFunctionLengths(project: Project): string[] {
  return sources(project, /^(server|client|web|bin|bench|tools)\//)
    .filter(({ path }) => !isTest(path))
    .flatMap(({ path, text }) =>
      functionsOf(path.endsWith('.ts') ? stripTypes(text) : text)
        .filter(({ lines, isTable }) => lines > linesMaxIn(path) && !isTable)
        .map(({ line, lines }) => `${path}:${line} is a function of ${lines} lines`),
    );
}

function linesMaxIn(path: string): number {
  return path.startsWith('web/') ? webFunctionLinesMax : functionLinesMax;
}

// Without Node's warning that this is experimental, which nobody can act on.
function stripTypes(text: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(text);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * Every function with a body in braces. It counts as a table if it only returns a list or an
 * object.
 */
export function functionsOf(js: string): { line: number; lines: number; isTable: boolean }[] {
  const { code } = scan(js);
  const found: { line: number; lines: number; isTable: boolean }[] = [];
  const open: { start: number; line: number }[] = [];
  let line = 1;
  for (let i = 0; i < code.length; i++) {
    if (code[i] === '\n') line++;
    if (code[i] === '{') open.push({ start: i, line });
    if (code[i] !== '}') continue;
    const begin = open.pop();
    if (!begin || !beginsFunction(code, begin.start)) continue;
    const lines = line - begin.line + 1;
    const isTable = /^\s*return\s*[[{][^;]*;?\s*$/.test(code.slice(begin.start + 1, i));
    found.push({ line: begin.line, lines, isTable });
  }
  return found;
}

const notFunctions = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'await']);

/** Whether the brace follows an arrow, or parentheses without a statement keyword before them. */
function beginsFunction(code: string, brace: number): boolean {
  let i = brace - 1;
  while (/\s/.test(code[i] ?? '')) i--;
  if (code[i] === '>' && code[i - 1] === '=') return true;
  if (code[i] !== ')') return false;
  for (let depth = 0; i > 0; i--) {
    if (code[i] === ')') depth++;
    if (code[i] === '(' && --depth === 0) break;
  }
  const word = /([\w$]*)\s*$/.exec(code.slice(Math.max(0, i - 40), i))![1]!;
  return !notFunctions.has(word);
}

/**
 * A line without its longest literal. Sentences for people and patterns are easier to read and find
 * in one piece, so they do not count towards its length.
 */
function withoutLongText(line: string): string {
  const literals = line.match(/'[^']*'|"[^"]*"|`[^`]*`|\/(?![/*])[^/]+\//g) ?? [];
  const [longest = ''] = literals.toSorted((a, b) => b.length - a.length);
  return longest.length > longTextMin ? line.replace(longest, '') : line;
}
