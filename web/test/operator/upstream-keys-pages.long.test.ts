/** The operator's page of an upstream with several keys, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import {
  sizes,
  assertClear,
  desktop,
  enter,
  openBrowser,
  phone,
  withoutBrowser,
  type VisitOptions,
} from '../browser.ts';
import { completion } from '../../../server/test/kit/fake.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';
import {
  keys,
  limited,
  nameOf,
  serveKeyed,
  told,
  wrongKey,
  type KeyedFake,
} from '../../../server/test/upstreams/several-keys-kit.ts';

const catalog = (url: string) => `
upstream: { name: talk, adapter: openai, url: "${url}", key_from: TALK_KEY }
models:
  - { id: talk/one, kind: text, task: chat, name: One, price: { unit: 1M tokens, input_usd: "1", output_usd: "2" },
      context_tokens: 1000, max_output_tokens: 100, upstream_model: one }
`;

describe('the page of an upstream with several keys', { skip: withoutBrowser() ?? false }, () => {
  let server: KeyedFake;
  let service: Service;
  let browser: Browser;
  let operator: Person;
  before(async () => {
    const reply = completion('hello', { prompt_tokens: 5, completion_tokens: 2 });
    server = await serveKeyed(({ path }) =>
      path.endsWith('/models') ? { json: { data: [{ id: 'one' }] } } : { json: reply },
    );
    service = await startWebService({
      catalog: catalog(server.url),
      env: { TALK_KEY: `${keys.a} ${keys.b} ${keys.c}` },
    });
    operator = await operatorOf(service);
    browser = await openBrowser();
    const { key } = await service.account();
    server.answers.a = (call) => (call.method === 'POST' ? limited(60)() : null);
    server.answers.b = wrongKey;
    const body = { model: 'talk/one', messages: [{ role: 'user', content: 'hi' }] };
    for (let i = 0; i < 3; i++) await service.call('POST', '/v1/chat/completions', { key, body });
    await service.db.run(
      rawSql(`update upstreams set paused_until = now() + interval '1 hour'
        where paused_until is not null`),
    );
  });
  after(async () => {
    await service.stop();
    await server.close();
  });

  const sights: [string, VisitOptions, wake: string, test: string, badge: string][] = [
    ['desktop', { viewport: desktop, scheme: 'light' }, 'Resume now', 'Test', '2 keys paused'],
    [
      'phone',
      { viewport: phone, scheme: 'dark', language: 'ru' },
      'Закончить паузу',
      'Проверить',
      '2 ключа на паузе',
    ],
  ];

  for (const [name, options, wake, tested, badge] of sights.slice(0, sizes.length))
    test(`names each key with its pause and its last error, and tries each: ${name}`, async () => {
      const visit = await enter(browser, originOf(service), operator, options);
      const { page, context, faults } = visit;
      await page.goto(`${originOf(service)}/operator/upstreams`);
      const card = page.getByRole('article', { name: 'talk' });
      const items = card.getByRole('list').getByRole('listitem');
      await items.nth(2).waitFor();
      const texts = await items.allInnerTexts();
      const named = ['a', 'b', 'c'] as const;
      named.forEach((letter, i) => assert.match(texts[i]!, new RegExp(`^${nameOf(letter)} 0 `)));
      assert.match(texts[1]!, /this key was revoked/);
      assert.doesNotMatch(texts[2]!, /paused|пауза/);
      await card.getByText(badge, { exact: true }).waitFor();
      await card.getByRole('button', { name: wake }).waitFor();
      await assertClear(page, `upstream-keys-${name}`);
      await card.getByRole('button', { name: tested }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(nameOf('c')).waitFor();
      assert.match(await dialog.innerText(), new RegExp(`${nameOf('b')}[^]*answered 401`));
      await assertClear(page, `upstream-keys-test-${name}`);
      assert.deepEqual(told(await page.content()), []);
      assert.deepEqual(faults, []);
      await context.close();
    });
});
