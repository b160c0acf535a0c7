/**
 * `run<Row>` believes what it is told about its rows. This reads the columns out of each statement
 * and compares them with the fields of `Row`.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import type { Node } from 'typescript/unstable/ast';
import { isCallExpression, isPropertyAccessExpression } from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';
import { ceilingOf, settingNames } from '../src/core/account/key-settings.ts';
import { readProject } from './layout/project.ts';

const root = path.join(import.meta.dirname, '../..');

describe('the rows of a statement', () => {
  const api = new API({ cwd: root });
  after(() => api.close());

  test('have the fields that their type has', () => {
    const config = path.join(root, 'tsconfig.json');
    const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects();
    const { program, checker } = project!;
    const wrong: string[] = [];
    const unread: string[] = [];
    const visit = (node: Node, file: string, source: string): void => {
      node.forEachChild((child) => visit(child, file, source));
      if (!isCallExpression(node) || node.typeArguments?.length !== 1) return;
      const { expression, arguments: given, typeArguments } = node;
      if (!isPropertyAccessExpression(expression) || expression.name.text !== 'run') return;
      const place = `${file}:${source.slice(0, expression.end).split('\n').length}`;
      const columns = columnsOf(textOf(source.slice(given.pos, given.end), source));
      const type = checker.getTypeFromTypeNode(typeArguments[0]!)!;
      const fields = checker.getPropertiesOfType(type).map(({ name }) => name);
      if (columns.includes(null)) unread.push(place);
      else if (columns.toSorted().join() !== fields.toSorted().join())
        wrong.push(`${place} selects ${columns.join()} for a row of ${fields.join()}`);
    };
    for (const [file, source] of readProject(path.join(root, 'server/src'))) {
      const found =
        source.includes('.run<') && program.getSourceFile(path.join(root, 'server/src', file));
      if (found) visit(found, file, source);
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(unread, []);
  });

  test('are named as PostgreSQL names them', () => {
    const names = (text: string) => columnsOf(text).join(' ');
    assert.equal(
      names('select a.id, b::text, count(*)::int, 1 + (2, 3) as n from t'),
      'id b count n',
    );
    assert.equal(names('with w as (select x from y) select z from w where z'), 'z');
    assert.equal(names('insert into t select a, b from u returning c'), 'c');
    assert.equal(names('select a as from, b from t'), 'from b');
    assert.deepEqual(columnsOf('select l.*, a from l'), [null, 'a']);
  });
});

/**
 * The SQL of the first template in this code, or in the function of the file that makes the
 * statement; with the file's own constants put in.
 */
function textOf(code: string, source: string): string {
  const maker = /^\s*(?!rawSql\b)(\w+)\(/.exec(code)?.[1];
  const found = maker
    ? /`(\s*select\b.*?)`/s.exec(source.slice(source.indexOf(`\nfunction ${maker}(`)))?.[1]
    : /(`|')(.*?)\1/s.exec(code)?.[2];
  return filled(found ?? '', source);
}

/** Columns that a statement names by a list of the program. */
const lists: Record<string, string> = {
  settingColumns: [...settingNames, ...Object.values(ceilingOf)].join(', '),
};

function filled(text: string, source: string): string {
  return text.replace(/\$\{((?:[^{}]|\{[^{}]*\})*)\}/g, (_, name: string) => {
    if (!/^\w+$/.test(name)) return '$';
    const constant = `const ${name} = (?:fragment\\(\\s*)?(\`|')(.*?)\\1`;
    const found = lists[name] ?? new RegExp(constant, 's').exec(source)?.[2];
    return found ? filled(found, source) : '$';
  });
}

const words =
  /[()[\],]|(?<!\bas )\b(select|from|returning|union|order\s+by|limit|where|group\s+by|for\s+update)\b/gi;

/** Names of the result's columns; null for a column whose name is unknown. */
function columnsOf(sql: string): (string | null)[] {
  const text = sql
    .replace(/--[^\n]*/g, ' ')
    .replace(/'[^']*'/g, "''")
    .replace(/^\s*\(/, '');
  let depth = 0;
  let list: 'none' | 'open' | 'over' = 'none';
  let from = 0;
  let columns: string[] = [];
  for (const { 0: found, index } of text.matchAll(words)) {
    const word = found.toLowerCase();
    if (word === '(' || word === '[') depth++;
    else if (word === ')' || word === ']') depth--;
    else if (depth > 0) continue;
    else if (word === 'returning' || (word === 'select' && list === 'none')) {
      list = 'open';
      columns = [];
      from = index + word.length;
    } else if (list === 'open') {
      columns.push(text.slice(from, index));
      from = index + 1;
      if (word !== ',') list = 'over';
    }
  }
  if (list === 'none') return [null];
  if (list === 'open') columns.push(text.slice(from));
  return columns.map(nameOf);
}

function nameOf(column: string): string | null {
  const text = column.trim().replace(/^(?:distinct on\s*\([^)]*\)|distinct)\s+/i, '');
  const given = /\bas\s+"?(\w+)"?$/i.exec(text) ?? /^(?:\w+\.)?(\w+)(?:::[\w[\]]+)*$/.exec(text);
  return given?.[1] ?? /^(\w+)\s*\(.*\)(?:::[\w[\]]+)*$/s.exec(text)?.[1] ?? null;
}
