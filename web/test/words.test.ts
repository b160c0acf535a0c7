/** The pages hold no text that nothing mentions. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const read = (pattern: string) =>
  globSync(pattern, { cwd: root }).map((file) => readFileSync(path.join(root, file), 'utf8'));

const words = /^(?:addWords\('(\w+)', |export const everywhere = )(\{\n[^]*?\n\})/gm;

test('each text of the pages has a name that the pages or the service mention', () => {
  const pages = read('web/src/**/*.{ts,tsx}').join('\n');
  const names = [...pages.matchAll(words)].flatMap(([, part = 'common', texts]) =>
    namesIn(new Function(`return ${texts}`)() as object).map((name) => `${part}:${name}`),
  );
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

function namesIn(texts: object): string[] {
  return Object.entries(texts).flatMap(([name, text]) =>
    Array.isArray(text) ? [name] : namesIn(Object(text)).map((each) => `${name}.${each}`),
  );
}
