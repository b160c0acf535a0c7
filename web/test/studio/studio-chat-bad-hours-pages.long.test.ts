/**
 * Bad hours of the chat in a real browser: each says what happened, keeps what was typed, and
 * charges nothing twice.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import {
  operatorOf,
  originOf,
  password,
  person,
  startWebService,
} from '../../../server/test/kit/web.ts';
import { barriers, enter, openBrowser, overflowOf, withoutBrowser } from '../browser.ts';

describe('a bad hour of the chat', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let base: string;
  before(async () => {
    service = await startWebService();
    base = originOf(service);
  });
  after(async () => {
    await service.audit();
    await service.stop();
  });

  async function visit({ usd = 10 } = {}) {
    const account = await service.account({ usd });
    const who = await person(service, { [account.account_id]: 'developer' });
    const one = await enter(await openBrowser(), base, who);
    await one.page.goto(`${base}/studio/chat?model=fake/chat`);
    await one.page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
    return { ...one, account, who };
  }

  /** Replies at a dollar and two for a million tokens, 1000 and 500 of them. */
  function speak(hold?: Promise<void>): void {
    service.fake.behave = {
      chat: () => ({
        outcome: 'stream',
        chunks: (async function* () {
          const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
          const delta = { content: 'A pier is a bridge that stops.' };
          yield { ...head, choices: [{ index: 0, delta, finish_reason: null }] };
          await hold;
          yield { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
          yield { ...head, choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500 } };
        })(),
      }),
    };
  }

  const field = (page: Page) => page.getByLabel('Write a message');
  const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true });
  const write = async (page: Page, text: string) => {
    await field(page).fill(text);
    await until('it may be sent', () => send(page).isEnabled());
  };

  async function charges({ account_id }: TestAccount): Promise<(bigint | null)[]> {
    const rows = await service.db.run<{ charged_usd_micro: bigint | null }>(
      rawSql('select charged_usd_micro from requests where account_id = $1', [account_id]),
    );
    return rows.map(({ charged_usd_micro }) => charged_usd_micro);
  }

  test('the line is lost in mid-reply: the part stays and says so, the cost comes once', async () => {
    speak();
    const { page, context, account } = await visit();
    await page.route('**/v1/chat/completions', async (route) => {
      const reply = await route.fetch();
      const whole = await reply.text();
      await route.fulfill({ response: reply, body: whole.slice(0, whole.indexOf('\n\n') + 2) });
    });
    await write(page, 'a pier?');
    await field(page).press('Enter');
    await field(page).fill('half a thought');
    await page.getByText('A pier is a bridge that stops.').waitFor();
    await page.getByRole('alert').getByText('The connection broke').waitFor();
    await page.locator('[data-cost="2000"]').waitFor();
    assert.equal(await field(page).inputValue(), 'half a thought');
    assert.deepEqual(await charges(account), [2000n]);
    assert.equal((await service.balance(account)).reserved, 0n);
    await context.close();
  });

  test('the answer to the question is lost: it is asked again under the same key', async () => {
    speak();
    const { page, context, account } = await visit();
    let lost = 0;
    await page.route('**/v1/chat/completions', async (route) => {
      if (lost++ > 0) return route.continue();
      await route.fetch();
      await route.abort('connectionreset');
    });
    await write(page, 'a pier?');
    await field(page).press('Enter');
    await page.locator('[data-cost="2000"]').waitFor();
    assert.deepEqual(await charges(account), [2000n]);
    await context.close();
  });

  test('the session ends: what was written is there after signing in, and nothing was sent', async () => {
    speak();
    const { page, context, account, who } = await visit();
    await write(page, 'a question for later');
    await service.db.run(rawSql('delete from sessions where person_id = $1', [who.id]));
    await send(page).click();
    await page.waitForURL(/sign-in/);
    await page.locator('input[type=email]').fill(who.email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.locator('button[type=submit]').click();
    await page.waitForURL(/studio\/chat/);
    await page.getByText('a question for later').first().waitFor();
    assert.deepEqual(await charges(account), []);
    await context.close();
  });

  test('the page is left and comes back: what was written and attached is still there', async () => {
    const { page, context } = await visit();
    const file = { name: 'مذكرة 🗒.txt', mimeType: 'text/plain', buffer: Buffer.from('piers') };
    await write(page, 'half a thought');
    await page.locator('input[type=file][multiple]').setInputFiles(file);
    await page.getByRole('link', { name: file.name }).waitFor();
    await page.goto(`${base}/studio/library`);
    await page.goBack();
    await page.getByRole('link', { name: file.name }).waitFor();
    assert.equal(await field(page).inputValue(), 'half a thought');
    await context.close();
  });

  test('the model is stopped while a message is written: nothing is sent, the words stay', async () => {
    speak();
    const { page, context, account } = await visit();
    await write(page, 'a pier?');
    const operator = await operatorOf(service);
    const set = (change: object) =>
      operator.call('PATCH', '/api/operator/models/fake/chat', { ...change, reason: 'a test' });
    assert.equal((await set({ status: 'stopped', status_note: 'moving house' })).status, 200);
    await send(page).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    assert.match(await alert.innerText(), /paused|moving house/i);
    await page.getByText('a pier?').first().waitFor();
    assert.deepEqual(await charges(account), []);
    assert.equal((await set({ status: 'live' })).status, 200);
    const other = await service.account();
    const messages = [{ role: 'user', content: 'sold again?' }];
    await until('it is sold again', async () => {
      const { status } = await other.post('/v1/chat/completions', { model: 'fake/chat', messages });
      return status === 200;
    });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('[data-cost="2000"]').waitFor();
    assert.deepEqual(await charges(account), [2000n]);
    await context.close();
  });

  test('another tab has spent the balance: the reply says so, and is asked for again later', async () => {
    speak();
    const { page, context, account } = await visit({ usd: 0.015 });
    await write(page, 'a pier?');
    await page.route('**/studio/allowance', (route) => route.abort());
    await page.route('**/events', (route) => route.abort());
    await account.post('/v1/queue/fake/image', { prompt: 'elsewhere' });
    await send(page).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    assert.match(await alert.innerText(), /balance/i);
    await page.getByText('a pier?').first().waitFor();
    assert.equal((await charges(account)).length, 1, 'the image alone');
    await context.close();
  });

  test('a message of 30,000 characters is sent whole, and its title is short', async () => {
    speak();
    const { page, context, account, faults } = await visit();
    const text = 'a pier at dawn. '.repeat(1_875).trim();
    await write(page, text);
    assert.equal(await overflowOf(page), 0);
    await field(page).press('Enter');
    await page.locator('[data-cost="2000"]').waitFor();
    const { messages } = service.fake.chats.at(-1)!.body as { messages: { content: string }[] };
    assert.equal(messages[0]!.content, text);
    const title = page.getByRole('navigation', { name: 'Conversations' }).locator('p').first();
    assert.ok((await title.innerText()).length <= 60);
    assert.equal(await overflowOf(page), 0);
    assert.deepEqual(await charges(account), [2000n]);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('a name in Arabic and emoji: in the list, the tab, the file and its dialogs', async () => {
    speak();
    const { page, context, faults } = await visit();
    const name = 'رصيف البحر 🌊👩‍👩‍👧‍👦';
    await write(page, name);
    await field(page).press('Enter');
    await page.locator('[data-cost="2000"]').waitFor();
    await until('the tab has its title', async () => (await page.title()).includes(name));
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Save as Markdown' }).click(),
    ]);
    assert.match(saved.suggestedFilename(), /رصيف البحر/);
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText(name).waitFor();
    assert.deepEqual(await barriers(page), []);
    assert.equal(await overflowOf(page), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
