/** Chat in the studio in a real browser, and waiting requests. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import {
  barriers,
  desktop,
  enter,
  openBrowser,
  overflowOf,
  phone,
  picture,
  sizes,
  withoutBrowser,
} from '../browser.ts';
import { tinyPng, type SaidReply } from '../../../server/test/kit/fake.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';

describe('the studio, talking and waiting', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await service.stop();
  });

  async function visit(viewport = desktop, scheme: 'light' | 'dark' = 'light') {
    const account = await service.account({ usd: 10 });
    const who = await person(service, { [account.account_id]: 'developer' });
    const one = await enter(browser, base, who, { viewport, scheme });
    return { ...one, account };
  }

  /** The charge of each request of the account, the oldest first. */
  async function charges({ account_id }: TestAccount): Promise<(bigint | null)[]> {
    const rows = await service.db.run<{ charged_usd_micro: bigint | null }>(
      rawSql('select charged_usd_micro from requests where account_id = $1 order by id', [
        account_id,
      ]),
    );
    return rows.map(({ charged_usd_micro }) => charged_usd_micro);
  }

  async function say(page: Page, text: string): Promise<void> {
    await page.getByLabel('Write a message').fill(text);
    await page.keyboard.press('Enter');
  }

  const reply = '**Bold** <img src=x onerror=alert(1)>\n\n```js\nlet a = 1;\n```\n';
  /**
   * Streams `reply` letter by letter. With `hold`, stops after half of it until `hold` resolves.
   */
  const speak = (hold?: Promise<void>) => (): SaidReply => ({
    outcome: 'stream',
    chunks: (async function* () {
      const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
      const chunk = (delta: object, finish_reason: string | null = null) => ({
        ...head,
        choices: [{ index: 0, delta, finish_reason }],
      });
      for (const [i, letter] of [...reply].entries()) {
        if (hold && i === 8) await hold;
        yield chunk({ content: letter });
      }
      yield chunk({}, 'stop');
      yield { ...head, choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500 } };
    })(),
  });

  for (const [size, viewport] of sizes) {
    test(`streams a reply, and shows its cost before and after, at ${size} width`, async () => {
      service.fake.behave = { chat: speak() };
      const { page, context, faults, account } = await visit(viewport);
      await page.goto(`${base}/studio/fake/chat`);
      await page.waitForURL(/\/studio\/chat\?model=fake/);
      await page.getByLabel('Write a message').fill('hello');
      await page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
      const dear = BigInt((await page.locator('[data-ceiling]').getAttribute('data-ceiling'))!);
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByLabel('Max tokens').fill('2000');
      await page.getByLabel('System prompt').fill('Be brief.');
      const ceiling = page.locator('[data-ceiling]');
      const now = async () => BigInt((await ceiling.getAttribute('data-ceiling'))!);
      await until('the reply may cost less', async () => (await now()) < dear);
      await page.getByLabel('Write a message').press('Enter');
      // At one and two dollars for a million tokens.
      await page.locator('[data-cost="2000"]').waitFor({ timeout: 20_000 });
      assert.deepEqual(await charges(account), [2000n]);
      const sent = service.fake.chats.at(-1)!.body;
      assert.deepEqual(sent.messages, [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ]);
      await page.locator('strong', { hasText: 'Bold' }).waitFor();
      assert.equal(await page.locator('img[src=x]').count(), 0);
      assert.match(await page.locator('pre').innerText(), /let a = 1;/);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `chat-${size}`);

      await page.getByRole('combobox', { name: 'Model' }).click();
      await page.getByRole('option', { name: 'Fake chat that is read to its end' }).click();
      await say(page, 'and now?');
      await page.locator('[data-conversation-cost="4000"]').waitFor();
      assert.equal((service.fake.chats.at(-1)!.body.messages as unknown[]).length, 4);
      await page.reload();
      await page.locator('[data-conversation-cost="4000"]').waitFor();
      assert.equal((await charges(account)).length, 2);
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('stops on request, keeps the text so far and shows its cost', async () => {
    let release = () => {};
    service.fake.behave = { chat: speak(new Promise<void>((resolve) => (release = resolve))) };
    const { page, context, account } = await visit(desktop, 'dark');
    await page.goto(`${base}/studio/chat?model=fake/chat`);
    await page.getByLabel('Write a message').fill('hello');
    await page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('strong', { hasText: 'Bold' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('Stopped').waitFor();
    release();
    const cost = page.locator('[data-cost]');
    await cost.waitFor();
    const [charged] = await charges(account);
    assert.equal(await cost.getAttribute('data-cost'), String(charged));
    assert.ok(charged! < 2000n);
    await context.close();
  });

  test('says what went wrong, and repeats the question on request', async () => {
    service.fake.behave = {
      chat: () => ({ outcome: 'rejected', message: 'No poems today.' }),
    };
    const { page, context, account, faults } = await visit();
    await page.goto(`${base}/studio/chat?model=fake/chat`);
    await page.getByLabel('Write a message').fill('a poem');
    await page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    assert.match(
      await page.getByRole('alert').innerText(),
      /No poems today|[Nn]othing was charged/,
    );
    assert.deepEqual((await charges(account)).filter(Boolean), []);
    service.fake.behave = { chat: speak() };
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('[data-cost="2000"]').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.deepEqual(
      faults.filter((fault) => !/status of 502/.test(fault)),
      [],
    );
    await context.close();
  });

  test('says that the service restarted in mid-reply, shows the cost, and asks again', async () => {
    const restarted = await startWebService();
    restarted.fake.behave = {
      chat: ({ signal }) =>
        speak(once(signal, 'abort').then(() => Promise.reject(new Error('cut off'))))(),
    };
    const account = await restarted.account({ usd: 10 });
    const who = await person(restarted, { [account.account_id]: 'developer' });
    const origin = originOf(restarted);
    const { page, context } = await enter(browser, origin, who, { viewport: phone });
    await page.goto(`${origin}/studio/chat?model=fake/chat`);
    await say(page, 'hello');
    await page.locator('strong', { hasText: 'Bold' }).waitFor();
    await restarted.app.stop(2_000);
    const told = await page.getByRole('alert').innerText();
    assert.match(told, /The service stopped in mid-reply/);
    assert.equal(await page.getByText('Idempotency-Key').count(), 0);
    await restarted.another({ PORT: new URL(origin).port });
    const cost = page.locator('[data-cost]');
    await cost.waitFor();
    const [row] = await restarted.db.run<{ charged_usd_micro: bigint }>(
      rawSql('select charged_usd_micro from requests where account_id = $1', [account.account_id]),
    );
    assert.equal(await cost.getAttribute('data-cost'), String(row!.charged_usd_micro));
    assert.equal((await restarted.balance(account)).reserved, 0n);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'chat-restarted-phone');
    restarted.fake.behave = { chat: speak() };
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('[data-cost="2000"]').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await context.close();
    await restarted.audit();
    await restarted.stop();
  });

  test('sends an image, renames a conversation and deletes it', async () => {
    service.fake.behave = { chat: speak() };
    const { page, context, faults } = await visit();
    await page.goto(`${base}/studio/chat?model=fake/chat`);
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: /Add a file: images/ }).click();
    const file = { name: 'dot.png', mimeType: 'image/png', buffer: tinyPng };
    await (await choosing).setFiles(file);
    await page.getByAltText('dot.png').waitFor();
    await page.getByLabel('Write a message').fill('what is it');
    await page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('[data-cost]').waitFor();
    const [said] = service.fake.chats.at(-1)!.body.messages as { content: { type: string }[] }[];
    assert.deepEqual(
      said!.content.map(({ type }) => type),
      ['text', 'image_url'],
    );
    await page.getByRole('button', { name: 'Actions for what is it' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('Name', { exact: true }).fill('A dot');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Actions for A dot' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No conversations yet.').waitFor();
    await page.reload();
    await page.getByText('No conversations yet.').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('changes a question and asks again, and keeps every version and its cost', async () => {
    service.fake.behave = { chat: speak() };
    const { page, context, faults } = await visit();
    await page.goto(`${base}/studio/chat?model=fake/chat`);
    const total = (cost: number) => page.locator(`[data-conversation-cost="${cost}"]`).waitFor();
    await page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
    await say(page, 'of lighthouses');
    await total(2000);
    await page.getByRole('button', { name: 'Regenerate' }).click();
    await total(4000);
    await page.getByText('2 / 2').waitFor();
    await page.getByRole('button', { name: 'Edit the message' }).click();
    const text = page.getByRole('textbox', { name: 'Edit the message' });
    await text.fill('of piers');
    const ceilings = page.locator('[data-ceiling]').filter({ hasText: '$' });
    await until('both prices are there', async () => (await ceilings.count()) === 2);
    await text.press('Enter');
    await total(6000);
    assert.deepEqual(service.fake.chats.at(-1)!.body.messages, [
      { role: 'user', content: 'of piers' },
    ]);
    assert.equal(await page.getByText('of lighthouses', { exact: true }).count(), 1, 'the title');
    assert.deepEqual(await barriers(page), []);
    await page.getByRole('button', { name: 'Previous version' }).click();
    await page.getByRole('article').getByText('of lighthouses').waitFor();
    // Both replies to the first question are still there, and the choice outlives a reload.
    await page.getByText('2 / 2').waitFor();
    await page.reload();
    await page.getByRole('article').getByText('of lighthouses').waitFor();
    await total(6000);
    assert.equal(await page.getByText('of piers').count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('finds a conversation by its words, and takes it to another browser', async () => {
    service.fake.behave = { chat: speak() };
    const { page, context } = await visit();
    for (const text of ['of lighthouses', 'of piers']) {
      await page.goto(`${base}/studio/chat?model=fake/chat`);
      await page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
      await say(page, text);
      await page.locator('[data-cost]').waitFor();
    }
    const list = page.getByRole('navigation', { name: 'Conversations' });
    await list.getByLabel('Search conversations').fill('BOLD piers');
    await list.getByText('of lighthouses').waitFor({ state: 'hidden' });
    await list.getByText('of piers').waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      list.getByRole('button', { name: 'Save all' }).click(),
    ]);
    const buffer = await readFile(await saved.path());
    await context.close();

    const other = await visit();
    await other.page.goto(`${base}/studio/chat?model=fake/chat`);
    const file = other.page.getByLabel('Load a file');
    await file.setInputFiles({
      name: 'odd.json',
      mimeType: 'application/json',
      buffer: Buffer.from('{"farebox_chats":1,"conversations":[{"title":1}]}'),
    });
    await other.page.getByRole('alert').getByText('odd.json').waitFor();
    await file.setInputFiles({ name: 'chats.json', mimeType: 'application/json', buffer });
    await other.page.getByText('of piers').click();
    await other.page.locator('strong', { hasText: 'Bold' }).waitFor();
    await other.page.locator('[data-conversation-cost="2000"]').waitFor();
    assert.deepEqual(other.faults, []);
    await other.context.close();
  });

  test('shows the place in the queue, and releases the money of a cancelled run', async () => {
    service.fake.behave = {};
    const { page, context, account, faults } = await visit(phone);
    const other = await service.account();
    const body = { prompt: 'first' };
    await service.call('POST', '/v1/queue/fake/image', { key: other.key, body });
    await page.goto(`${base}/studio/fake/image`);
    await page.getByLabel('Prompt').fill('second');
    await page.locator('[data-price="10000"][data-fresh]').waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('1 request is ahead of it.').waitFor();
    assert.equal((await service.balance(account)).reserved, 10_000n);
    await page.getByText('Balance $9.99').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'queued-phone');
    await page.getByRole('button', { name: 'Cancel' }).click();
    const stage = (status: string) => page.locator(`[data-stage][data-status=${status}]`);
    await stage('CANCELLED').waitFor();
    await page.getByText('Balance $10.00').waitFor();
    assert.equal((await service.balance(account)).reserved, 0n);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await stage('IN_QUEUE').waitFor();
    await service.work();
    await service.wakeAll();
    await service.work();
    await stage('COMPLETED').locator('img').first().waitFor();
    await page.getByText('Balance $9.99').waitFor();
    assert.equal(
      service.fake.starts.some(({ input }) => input.prompt === 'second'),
      true,
    );
    assert.deepEqual(faults, []);
    await context.close();
  });
});
