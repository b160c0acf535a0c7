/** The page of webhooks in a real browser. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import {
  schemes,
  barriers,
  enter,
  openBrowser,
  overflowOf,
  picture,
  sizes,
  withoutBrowser,
} from '../browser.ts';
import { newId } from '../../../server/src/lib/id.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';

describe('the page of webhooks', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let receiver: Server;
  let account: TestAccount;
  let url: string;
  const hits: { text: string; headers: Record<string, string> }[] = [];
  before(async () => {
    receiver = createServer(async (req, res) => {
      let text = '';
      for await (const chunk of req) text += chunk;
      hits.push({ text, headers: req.headers as Record<string, string> });
      res.writeHead(req.url === '/broken' ? 500 : 204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    url = `http://${host}`;
    service = await startWebService({ env: { FAREBOX_TEST_PUBLIC_HOSTS: host } });
    browser = await openBrowser();
    account = await service.account();
    const body = { prompt: 'x', webhook_url: `${url}/broken` };
    await service.call('POST', '/v1/queue/fake/image', { key: account.key, body });
    await service.work();
    await service.wakeAll();
    await service.work();
  });
  after(async () => {
    await service.stop();
    await new Promise((resolve) => receiver.close(resolve));
  });

  for (const [size, viewport] of sizes) {
    for (const scheme of schemes) {
      test(`shows, tests and resends at ${size} width, ${scheme}`, async () => {
        const who = await person(service, { [account.account_id]: 'developer' });
        const { page, context, faults } = await enter(browser, originOf(service), who, {
          viewport,
          scheme,
        });
        await page.goto(`${originOf(service)}/dashboard/webhooks`);
        const rows = page.getByRole(size === 'phone' ? 'listitem' : 'row');
        // Only the badge, because a port, an id or a duration may have the same digits.
        const answered = (status: number) =>
          rows.getByText(String(status), { exact: true }).first();
        await answered(500).waitFor();
        // Cards on windows that are too narrow for the table.
        assert.equal(await page.getByRole('table').count(), size === 'phone' ? 0 : 1);
        await page.getByLabel('Address', { exact: false }).first().fill(`${url}/taken`);
        await page.getByRole('button', { name: 'Send', exact: true }).click();
        await page.getByText('Delivered: your receiver answered 204').waitFor();
        await page.getByRole('button', { name: 'Show secret' }).click();
        const secret = await page.getByText(/^whsec_[\w+/]+=*$/).innerText();
        const { text, headers } = hits.at(-1)!;
        new Webhook(secret).verify(text, headers);
        const before = hits.length;
        await page.getByRole('button', { name: 'Send again' }).first().click();
        await page.getByText('Failed: answered 500').waitFor();
        assert.equal(hits.length, before + 1);
        assert.deepEqual(await barriers(page), []);
        await picture(page, `webhooks-${size}-${scheme}`);
        await page.getByText('Failed', { exact: true }).click();
        await page.waitForURL(/failed=true/);
        await answered(204).waitFor({ state: 'detached' });
        await answered(500).waitFor();
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  }

  for (const [size, viewport] of sizes) {
    test(`says in the row why there was no answer, at ${size} width`, async () => {
      const own = await service.account();
      const reason = `The address could not be reached: ${'x'.repeat(300)} at last`;
      await service.db.run(
        rawSql(
          `insert into webhook_deliveries (id, account_id, cause, url, error, duration_ms)
           values ($1, $2, 'test', 'https://example.com/hook', $3, 12)`,
          [newId(), own.account_id, reason],
        ),
      );
      const owner = await person(service, { [own.account_id]: 'owner' });
      const { page, context, faults } = await enter(browser, originOf(service), owner, {
        viewport,
      });
      await page.goto(`${originOf(service)}/dashboard/webhooks`);
      const shown = page.getByRole('button', { name: reason });
      await shown.waitFor();
      const lines = async () => Math.round((await shown.boundingBox())!.height / 18);
      assert.equal(await lines(), 1);
      if (size === 'phone') await shown.tap();
      else await shown.press('Enter');
      assert.equal(await shown.getAttribute('aria-expanded'), 'true');
      assert.ok((await lines()) > 5, 'all of it is seen');
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `webhooks-reason-${size}`);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('replaces the secret in two steps, and asks before the second', async () => {
    const who = await person(service, { [account.account_id]: 'owner' });
    const { page, context } = await enter(browser, originOf(service), who);
    await page.goto(`${originOf(service)}/dashboard/webhooks`);
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByText('Both secrets sign until you retire').waitFor();
    await page.getByRole('button', { name: 'Retire old secret' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Retire old secret' }).click();
    await page.getByRole('button', { name: 'Rotate secret' }).waitFor();
    await context.close();
  });

  test('says in Russian, by the name of the field, what is wrong with an address', async () => {
    const own = await service.account();
    const owner = await person(service, { [own.account_id]: 'owner' });
    const { page, context } = await enter(browser, originOf(service), owner, { language: 'ru' });
    await page.goto(`${originOf(service)}/dashboard/webhooks`);
    await page.getByLabel('Адрес', { exact: false }).first().fill('http://me:secret@example.com/');
    await page.getByRole('button', { name: 'Отправить' }).click();
    await page.getByText(/^Адрес: .*без пробелов, имени пользователя и пароля/).waitFor();
    assert.equal(await page.getByText('url:').count(), 0);
    await context.close();
  });

  test('shows read-only people neither the secret nor a button', async () => {
    const who = await person(service, { [account.account_id]: 'read_only' });
    const { page, context } = await enter(browser, originOf(service), who);
    await page.goto(`${originOf(service)}/dashboard/webhooks`);
    await page.getByText('Your role cannot see the whole secret').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0);
    assert.equal(await page.getByText(/whsec_[\w+/]{20,}/).count(), 0);
    await context.close();
  });
});
