/** The walk finds each kind of fault on a page that has it, and none on the same page without it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { barriers, openBrowser, visitor, withoutBrowser } from '../browser.ts';
import { untranslated } from './walk.ts';

const inPage = readFileSync(join(import.meta.dirname, 'in-page.js'), 'utf8');
const words = 'a sentence that needs more room than it gets';

const cases: [fault: RegExp, broken: string, mended: string][] = [
  [/^cut off: a sentence/, style('width: 90px; overflow: hidden; white-space: nowrap'), ''],
  [/^cut off below: a sentence/, style('width: 90px; height: 20px; overflow: hidden'), ''],
  [
    /^cut short: a sentence/,
    `<button ${style('width: 90px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap')}`,
    '<button',
  ],
  [/^broken: sentence/, style('width: 20px; overflow-wrap: anywhere'), ''],
  [/^over each other: /, style('margin-bottom: -40px'), ''],
  [/^the page is \d+ wide/, style('width: 900px'), ''],
  [
    /^scrolls sideways: /,
    `role="region" ${style('overflow-x: auto; white-space: nowrap; width: 90px')}`,
    'role="region"',
  ],
  [/^in another typeface: a sentence/, style('font-family: serif'), ''],
  [/^color-contrast: /, style('color: #bbb; background: #fff'), style('color: #333')],
  [/^image-alt: /, '><img src="data:,"><p', '><img alt="" src="data:,"><p'],
];

function style(rules: string): string {
  return `style="${rules}"`;
}

test('each kind of fault is found', { skip: withoutBrowser() ?? false }, async (t) => {
  const { page, context } = await visitor(await openBrowser(), {
    viewport: { width: 390, height: 844 },
  });
  const faultsOf = async (part: string) => {
    const tag = part.startsWith('<') ? part : `<p ${part}`;
    await page.setContent(
      `<html lang="en" style="--font: 'Inter', sans-serif"><meta name="viewport" content="width=device-width"><style>* { font-family: var(--font) }</style><title>x</title><main><h1>x</h1>${tag}>${words}</p><p>another</p></main>`,
    );
    await page.evaluate(inPage);
    return [...(await page.evaluate<string[]>('seen.faults()')), ...(await barriers(page))];
  };
  for (const [fault, broken, mended] of cases)
    await t.test(String(fault), async () => {
      const found = await faultsOf(broken);
      assert.ok(
        found.some((each) => fault.test(each)),
        found.join('\n'),
      );
      assert.deepEqual(await faultsOf(mended), []);
    });
  await context.close();
});

test('texts without a translation are found, and those of replies are not', () => {
  const english = new Set(['Top up', 'Ada Lovelace', 'openapi.json']);
  const said = [
    'Top up',
    'Пополнить',
    'Ada Lovelace',
    'money.top_up',
    '{{count}} дней',
    'openapi.json',
  ];
  assert.deepEqual(
    [...untranslated(said, english, new Set(['{"name":"Ada Lovelace"}']))],
    ['not translated: Top up', 'not translated: money.top_up', 'not filled in: {{count}} дней'],
  );
});
