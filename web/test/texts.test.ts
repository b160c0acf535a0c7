/** The pages hold no text that nothing mentions. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { settingNames } from '../../server/src/core/account/key-settings.ts';
import * as shared from '../../server/src/core/task-words.ts';
import { operatorActions } from '../../server/src/operations/operator-action.ts';

const root = path.resolve(import.meta.dirname, '../..');
const read = (pattern: string) =>
  globSync(pattern, { cwd: root }).map((file) => readFileSync(path.join(root, file), 'utf8'));

const words = /^(?:addTexts\('(\w+)', |export const commonTexts = )(\{\n[^]*?\n\})/gm;

const pages = read('web/src/**/*.{ts,tsx}').join('\n');
const names = [...pages.matchAll(words)].flatMap(([, part = 'common', texts]) =>
  namesIn(objectOf(texts!)).map((name) => `${part}:${name}`),
);

test('each text of the pages has a name that the pages or the service mention', () => {
  assert.ok(names.length > 1_500);
  const code = pages.replaceAll(words, '');
  const forms = [...code.matchAll(/`([\w.:]*)\$\{[^}]+\}([\w.]*)`/g)].flatMap(([, head, tail]) =>
    head || tail ? new RegExp(`(^|:)${head}[^.]+${tail}$`) : [],
  );
  const others = [...read('server/src/**/*.ts'), ...read('catalog/*.yaml')].join('\n');
  const mentioned = new Set(`${code}\n${others}`.match(/[\w-]+/g));
  const isMentioned = (name: string) =>
    mentioned.has(/[^.: ]+?(?=(_zero)?$)/.exec(name)![0]) || forms.some((form) => form.test(name));
  assert.deepEqual(
    names.filter((name) => !isMentioned(name)),
    [],
  );
});

test('a text has plain names in the places of its values', () => {
  const texts = [...pages.matchAll(words)].map(([, , each]) => each).join('\n');
  const places = texts.match(/\{\{[^}]*\}\}/g)!;
  assert.ok(places.length > 300);
  assert.deepEqual(
    places.filter((place) => !/^\{\{\w+(, number)?\}\}$/.test(place)),
    [],
  );
});

test('each action of the operator’s log has its words in operator/log-texts.ts, and no other', () => {
  const told = names.filter((name) => name.startsWith('operator_log:action.'));
  const known = operatorActions.map((name) => `operator_log:action.${name.replace('.', '_')}`);
  assert.deepEqual(told.toSorted(), known.toSorted());
  // test/http/operator/scopes.test.ts compares other details with what the calls write.
  for (const name of ['name', ...settingNames])
    assert.ok(names.includes(`operator_log:detail.${name}`), `no words for ${name}`);
});

/** The texts that a file of the pages lists; the service has some of them, too. */
function objectOf(texts: string): object {
  const names = Object.keys(shared);
  return new Function(...names, `return ${texts}`)(...Object.values(shared)) as object;
}

function namesIn(texts: object): string[] {
  return Object.entries(texts).flatMap(([name, text]) =>
    Array.isArray(text) ? [name] : namesIn(Object(text)).map((each) => `${name}.${each}`),
  );
}
