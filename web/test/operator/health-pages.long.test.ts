/** The operator's pages of catalog, upstreams, queue and unknown outcomes, in a real browser. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
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
import { createFake, type Fake } from '../../../server/test/kit/fake.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  person,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';

const key = 'a-key-that-nobody-may-see-0123456789';

const acme = (host: string) => `
# Costs are those of acme's own price list, read on 2026-11-01; prices are those plus 20 %.
upstream: { name: acme, adapter: openai, url: "http://${host}/v1", key_from: ACME_KEY, concurrency: 3 }
models:
  - id: acme/large/chat
    kind: text
    task: chat
    name: Acme large
    description: For long answers.
    # acme.example/prices, 2026-11-01
    price: { unit: 1M tokens, input_usd: "2", output_usd: "4" }
    context_tokens: 1000
    max_output_tokens: 1000
    upstreams: [{ model: large, cost_input_usd: "1.6", cost_output_usd: "5" }, { upstream: unset, model: other/large }]
`;
const unset = `upstream: { name: unset, adapter: openai, url: "https://unset.example/v1", key_from: UNSET_KEY }
models:
  - { id: unset/chat, kind: text, task: chat, name: Unset, price: { unit: 1M tokens, input_usd: "1", output_usd: "1" },
      context_tokens: 1000, max_output_tokens: 1000 }
`;
const broken = `upstream: fake
models:
  - { id: broken/image, kind: image, task: text-to-image, name: Broken, price: { unit: image, usd: free },
      input_schema: { type: object }, example: {} }
`;

describe('the operator’s live pages', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let fake: Fake;
  let lossy: Fake;
  let operator: Person;
  let customer: TestAccount;
  let server: Server;
  before(async () => {
    server = createServer((req, res) => {
      const taken = req.headers.authorization === `Bearer ${key}`;
      res.writeHead(taken ? 200 : 401, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ object: 'list', data: [{ id: 'large' }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    fake = createFake({ concurrency: 1 });
    lossy = createFake({ name: 'lossy', class: 'C', concurrency: 4 });
    service = await startWebService({ fake, upstreams: [lossy], env: { ACME_KEY: key } });
    const put = (name: string, text: string) =>
      writeFileSync(join(service.dir, 'catalog', `${name}.yaml`), text);
    put('acme', acme(`127.0.0.1:${(server.address() as AddressInfo).port}`));
    put('unset', unset);
    put('broken', broken);
    put('lossy', lossyRow);
    await service.app.catalog.reload();
    operator = await operatorOf(service);
    customer = await service.account({ usd: 10 });
    const named = rawSql(`update accounts set name = 'Lindenhof' where email = $1`, [
      customer.email,
    ]);
    await service.db.run(named);
    browser = await openBrowser();
    await submit('fake/image');
    await service.work();
  });
  after(async () => {
    await service.stop();
    await new Promise((resolve) => server.close(resolve));
  });

  const submit = async (model: string) => {
    const body = { prompt: 'a cat' };
    const reply = await service.call('POST', `/v1/queue/${model}`, { key: customer.key, body });
    assert.equal(reply.status, 202, reply.text);
    return reply.body.request_id as string;
  };

  const sights: [string, VisitOptions][] = [
    ['desktop-light', { viewport: desktop, scheme: 'light' }],
    ['phone-dark', { viewport: phone, scheme: 'dark', language: 'ru' }],
  ];

  /** Opens the page as the operator, and asserts at the end that the browser had no errors. */
  const at = async (path: string, options: VisitOptions, look: (page: Page) => Promise<void>) => {
    const { page, context, faults } = await enter(browser, originOf(service), operator, options);
    await page.goto(`${originOf(service)}${path}`);
    await look(page);
    assert.deepEqual(faults, []);
    await context.close();
  };

  /** Asserts that the page is accessible and shows no secret. */
  const checked = async (page: Page, name: string) => {
    await assertClear(page, name);
    assert.ok(!(await page.content()).includes(key));
  };

  for (const [name, options] of sights.slice(0, sizes.length)) {
    const isRussian = options.language === 'ru';
    const say = (en: string, ru: string) => (isRussian ? ru : en);

    test(`show the catalog with its problems, and one row, ${name}`, async () => {
      await at('/operator/catalog', options, async (page) => {
        await page
          .getByText(/^broken.yaml:\d/)
          .first()
          .waitFor();
        await page.getByText(say('needs UNSET_KEY', 'нужна UNSET_KEY')).first().waitFor();
        await checked(page, `catalog-${name}`);
        await page.getByRole('searchbox').fill('acme');
        await page.waitForURL(/q=acme/);
        await page.getByRole('link', { name: 'Fake image' }).waitFor({ state: 'detached' });
        await page.getByRole('link', { name: 'Acme large' }).click();
        await page.waitForURL(/catalog\/row\/acme\/large\/chat/);
        await page.getByText('acme.example/prices, 2026-11-01').waitFor();
        await checked(page, `catalog-row-${name}`);
        await page.goto(`${originOf(service)}/operator/catalog/row/fake/image`);
        await page.getByText('$0.01').first().waitFor();
        await checked(page, `catalog-sold-${name}`);
      });
    });

    test(`show the upstreams, test one and end the pause of another, ${name}`, async () => {
      fake.behave = {
        start: () => ({ outcome: 'not_accepted', why: 'credential', message: 'key is over' }),
      };
      await submit('fake/image');
      await service.work();
      await at('/operator/upstreams', options, async (page) => {
        const card = page.getByRole('article', { name: 'fake', exact: true });
        await card.getByText('key is over').waitFor();
        await checked(page, `upstreams-${name}`);
        await card.getByRole('button', { name: say('Resume now', 'Закончить паузу') }).click();
        await card.getByText(say('Working', 'Работает')).waitFor();
        const other = page.getByRole('article', { name: 'acme', exact: true });
        await other.getByRole('button', { name: say('Test', 'Проверить') }).click();
        await page.getByText(say('The test passed', 'Всё в порядке')).waitFor();
        await checked(page, `upstreams-test-${name}`);
      });
      fake.behave = {};
      await service.wakeAll();
      await service.work();
    });

    test(`show a paused model once, and stop and resume one, ${name}`, async () => {
      const message = 'no such model: image';
      await service.db.run(rawSql('delete from upstreams'));
      await service.db.run(
        rawSql(
          `insert into upstreams (name, model, failures, last_error, last_error_at, paused_until)
           values ('lossy', '', 1, $1, now(), null),
             ('lossy', 'gone', 1, $1, now(), now() + interval '5 min')`,
          [message],
        ),
      );
      await at('/operator/catalog/row/fake/image', options, async (page) => {
        const state = page.getByText(say('Stopped', 'Снята'), { exact: true });
        const stop = { name: say('Stop selling', 'Снять с продажи'), exact: true };
        await page.getByRole('button', stop).click();
        await page.getByRole('dialog').getByRole('button', stop).click();
        await state.first().waitFor();
        await checked(page, `catalog-stopped-${name}`);
        await page.goto(`${originOf(service)}/operator`);
        const told = say(
          '1 model is stopped by an operator',
          '1 модель снята с продажи оператором',
        );
        await page.getByRole('link', { name: told }).click();
        await page.waitForURL(/catalog\?state=stopped/);
        await page.getByText(operator.email).first().waitFor();
        await state.first().waitFor();
        assert.equal(await page.getByRole('link', { name: 'lossy/image' }).count(), 0);
        await checked(page, `catalog-stopped-list-${name}`);
        await page.goto(`${originOf(service)}/operator/upstreams`);
        const card = page.getByRole('article', { name: 'lossy', exact: true });
        await card.getByText(say('1 model paused', '1 модель на паузе')).waitFor();
        assert.equal(await card.getByText(message).count(), 1, 'its error is shown once');
        const works = card.getByText(say('Working', 'Работает'), { exact: true });
        assert.equal(await works.count(), 0, 'nor does it seem to work');
        const own = page.getByRole('article', { name: 'fake', exact: true });
        await own.getByText(say('Working', 'Работает'), { exact: true }).waitFor();
        assert.equal(await own.getByText(/21\d\d/).count(), 0, 'a stop is no pause');
        await checked(page, `upstreams-paused-${name}`);
        await page.goto(`${originOf(service)}/operator/catalog/row/fake/image`);
        await page.getByRole('button', { name: say('Sell again', 'Вернуть в продажу') }).click();
        await page.getByText(say('Live', 'Доступна'), { exact: true }).waitFor();
      });
      await service.db.run(rawSql('delete from upstreams'));
    });

    test(`show the queue, and cancel a request of somebody else, ${name}`, async () => {
      fake.behave = { poll: () => ({ state: 'running', progress: 0.4 }) };
      await submit('fake/image');
      await service.app.worker!.runOnce();
      const waiting = await submit('fake/image');
      await at('/operator/queue', options, async (page) => {
        const cancel = page.getByRole('button', { name: say('Cancel', 'Отменить'), exact: true });
        await page
          .getByText(say('a free slot at its upstream', 'свободного слота у апстрима'))
          .waitFor();
        await page.getByRole('link', { name: 'Lindenhof' }).nth(1).waitFor();
        await page.getByText(customer.email).nth(1).waitFor();
        await checked(page, `queue-${name}`);
        await cancel.click();
        await page.getByRole('dialog').getByText('Fake image').waitFor();
        await checked(page, `queue-cancel-${name}`);
        const row = rawSql('select status from requests where id = $1', [waiting]);
        const [before] = await service.db.run<{ status: string }>(row);
        assert.equal(before!.status, 'IN_QUEUE');
        const confirm = say('Cancel', 'Отменить');
        await page.getByRole('dialog').getByRole('button', { name: confirm }).last().click();
        await page.getByText(say('Request cancelled', 'Запрос отменён')).waitFor();
        const [now] = await service.db.run<{ status: string }>(row);
        assert.equal(now!.status, 'CANCELLED');
      });
      fake.behave = {};
      await service.wakeAll();
      await service.work();
    });

    test(`show unknown outcomes, and resolve them, ${name}`, async () => {
      lossy.behave = { start: () => ({ outcome: 'unknown', message: 'reset after 312 bytes' }) };
      const id = await submit('lossy/image');
      await service.work();
      lossy.behave = { poll: () => ({ state: 'running' }) };
      const late = await submit('lossy/image');
      await service.work();
      await service.db.run(
        rawSql(`update requests set deadline_at = now() - interval '1 s' where id = $1`, [late]),
      );
      await service.wakeAll();
      await service.work();
      // A repeat may still find the job of this start.
      fake.behave = { start: () => ({ outcome: 'unknown', message: 'reset after 312 bytes' }) };
      const waiting = await submit('fake/image');
      await service.work();
      await at(`/operator/requests/${late}`, options, async (page) => {
        const link = page.getByRole('link', {
          name: say('Resolve', 'Записать исход'),
        });
        await link.click();
        const card = page.getByRole('listitem').filter({ hasText: late });
        const why = say('timed out at the upstream', 'не уложился в срок у апстрима');
        await card.getByText(why).waitFor();
        await card.getByRole('button', { name: say('Resolve', 'Записать исход') }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText(say('It did not run', 'Он не выполнялся')).click();
        await dialog.getByRole('button', { name: say('Save outcome', 'Записать') }).click();
        await page.getByText(say('Resolved.', 'Записано.')).waitFor();
      });
      await at('/operator/unknown', options, async (page) => {
        await page
          .getByText(say('Waiting for the lost answer', 'Ждут потерянного ответа'))
          .waitFor();
        const waits = page.getByRole('listitem').filter({ hasText: waiting });
        await waits.getByRole('link', { name: 'Lindenhof' }).waitFor();
        await waits.getByText(customer.email).waitFor();
        assert.equal(
          await waits.getByRole('button', { name: say('Resolve', 'Записать') }).count(),
          0,
        );
        await checked(page, `unknown-${name}`);
        const note = page.getByRole('button', {
          name: say('Resolve', 'Записать исход'),
        });
        assert.equal(await note.count(), 1);
        await note.click();
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('textbox').first().fill('0.0042');
        await dialog.getByRole('textbox').last().fill('invoice 17');
        await checked(page, `unknown-note-${name}`);
        await dialog.getByRole('button', { name: say('Save outcome', 'Записать') }).click();
        await page.getByText(say('Resolved.', 'Записано.')).waitFor();
        await page.getByText(say('Resolved', 'Решённые'), { exact: true }).click();
        await page.getByText('$0.0042').first().waitFor();
        await checked(page, `unknown-resolved-${name}`);
      });
      const spent = await service.balance(customer);
      const rows = await service.db.run(
        rawSql('select from requests where id = $1 and charged_usd_micro = 0', [id]),
      );
      assert.equal(rows.length, 1);
      assert.ok(spent.available > 0n);
      fake.behave = {};
      await service.wakeAll();
      await service.work();
    });
  }

  for (const [name, options] of sights.slice(0, sizes.length)) {
    const isRussian = options.language === 'ru';
    const say = (en: string, ru: string) => (isRussian ? ru : en);

    test(`show starts that were left, and resolve all of an upstream, ${name}`, async () => {
      lossy.behave = { start: () => ({ outcome: 'unknown', message: 'answered 502' }) };
      const ids = [await submit('lossy/next'), await submit('lossy/next')];
      for (let round = 0; round < 4; round++) {
        await service.work();
        await service.wakeAll();
      }
      const charged = await service.balance(customer);
      await at(`/operator/requests/${ids[0]}`, options, async (page) => {
        await page.getByText(say('The next upstream was tried', 'Опробован следующий')).waitFor();
        await checked(page, `request-left-${name}`);
      });
      await at('/operator/unknown', options, async (page) => {
        for (const id of ids) {
          const card = page.getByRole('listitem').filter({ hasText: id });
          const why = say('and the next upstream was tried', 'опробован следующий апстрим');
          await card.getByText(why).waitFor();
        }
        await checked(page, `unknown-left-${name}`);
        const sum = page.getByRole('listitem').filter({ hasText: /^lossy · / });
        await sum.getByRole('button', { name: say('Resolve all', 'Решить все') }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText(say('The upstream ran it', 'Апстрим его выполнил')).waitFor();
        await checked(page, `unknown-all-${name}`);
        const cost = say('Your cost for each outcome', 'Сколько каждый взял с вас');
        await dialog.getByLabel(cost).fill('0.004');
        await dialog.getByRole('button', { name: say('Save outcome', 'Записать') }).click();
        await page.getByText(say('outcomes resolved', 'исхода')).first().waitFor();
        await sum.waitFor({ state: 'detached' });
      });
      const costs = await service.db.run<{ cost: bigint }>(
        rawSql(
          `select cost_usd_micro as cost from attempts
           where request_id = any($1::uuid[]) and left_at is not null`,
          [`{${ids.join(',')}}`],
        ),
      );
      assert.deepEqual(
        costs.map(({ cost }) => cost),
        [4000n, 4000n],
      );
      assert.deepEqual(await service.balance(customer), charged, 'no customer pays for it');
      lossy.behave = {};
    });
  }

  test('do not exist for people who are not operators', async () => {
    const other = await person(service, { [customer.account_id]: 'owner' });
    const { page, context } = await enter(browser, originOf(service), other);
    await page.goto(`${originOf(service)}/operator/upstreams`);
    await page.getByText('Page not found').waitFor();
    assert.equal(await page.getByText('acme').count(), 0);
    await context.close();
  });
});

const lossyRow = `upstream: lossy
models:
  - { id: lossy/image, kind: image, task: text-to-image, name: Lossy, price: { unit: image, usd: "0.05" }, cost_usd: "0.04",
      input_schema: { type: object, properties: { prompt: { type: string } } }, example: { prompt: a cat } }
  - { id: lossy/next, kind: image, task: text-to-image, name: Lossy and another, price: { unit: image, usd: "0.05" },
      input_schema: { type: object, properties: { prompt: { type: string } } }, example: { prompt: a cat },
      on_lost: next, upstreams: [{ upstream: lossy, model: m }, { upstream: fake, model: image }] }
`;
