/** Chat in several tabs of a browser, which share its stored conversations. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { enter, openBrowser, withoutBrowser } from '../browser.ts';
import type { SaidChat } from '../../../server/test/kit/fake.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';

describe('chat in two tabs', { skip: withoutBrowser() ?? false }, () => {
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

  async function twoTabs() {
    const account = await service.account({ usd: 10 });
    const who = await person(service, { [account.account_id]: 'developer' });
    const { page: one, context, faults } = await enter(browser, base, who);
    const two = await context.newPage();
    two.on('pageerror', (error) => faults.push(String(error)));
    return { one, two, context, faults, account };
  }

  const textOf = ({ body }: SaidChat) => (body.messages as { content: string }[]).at(-1)!.content;

  /** Replies "reply to alpha" to "alpha"; a reply ends when its promise in `held` resolves. */
  function speak(held: Record<string, Promise<void>> = {}): void {
    service.fake.behave = {
      chat: (call) => ({
        outcome: 'stream',
        chunks: (async function* () {
          const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
          const delta = { content: `reply to ${textOf(call)}` };
          yield { ...head, choices: [{ index: 0, delta, finish_reason: null }] };
          await held[textOf(call)];
          yield { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
          yield { ...head, choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500 } };
        })(),
      }),
    };
  }

  async function begin(page: Page, text: string): Promise<void> {
    await page.goto(`${base}/studio/chat?model=fake/chat`);
    await say(page, text);
    await page.waitForURL(/[?&]c=/);
  }

  async function say(page: Page, text: string): Promise<void> {
    await page.getByLabel('Write a message').fill(text);
    await page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText(`reply to ${text}`).waitFor();
  }

  async function ended(page: Page, cost: number): Promise<void> {
    await page.locator(`[data-conversation-cost="${cost}"]`).waitFor();
  }

  const spoken = /^(reply to )?(alpha|two|three)$/;
  /** The texts of the conversation on the page, in order. */
  const said = (page: Page) => page.getByRole('log').getByText(spoken).allInnerTexts();
  const list = (page: Page) => page.getByRole('navigation', { name: 'Conversations' });
  const titles = (page: Page) =>
    list(page)
      .locator('button')
      .filter({ has: page.locator('p') });

  async function shows(page: Page, wanted: string[]): Promise<void> {
    const isThere = async () => (await said(page)).join() === wanted.join();
    await until(`the page shows ${wanted.join()}`, isThere).catch(() => {});
    assert.deepEqual(await said(page), wanted);
  }

  async function lists(page: Page, wanted: string[]): Promise<void> {
    const names = async () => {
      const all = await titles(page).locator('p:first-child').allInnerTexts();
      return all.toSorted();
    };
    const isThere = async () => (await names()).join() === wanted.join();
    await until(`the page lists ${wanted.join()}`, isThere).catch(() => {});
    assert.deepEqual(await names(), wanted);
  }

  test('messages of two tabs in one conversation are in both, and are stored', async () => {
    speak();
    const { one, two, context, faults } = await twoTabs();
    await begin(one, 'alpha');
    await ended(one, 2000);
    await two.goto(one.url());
    await say(two, 'two');
    await ended(two, 4000);
    await say(one, 'three');
    await ended(one, 6000);
    const all = ['alpha', 'two', 'three'].flatMap((text) => [text, `reply to ${text}`]);
    assert.equal((service.fake.chats.at(-1)!.body.messages as unknown[]).length, 5);
    for (const page of [one, two]) await shows(page, all);
    for (const page of [one, two]) await page.reload();
    for (const page of [one, two]) await shows(page, all);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('a reply that arrives meanwhile comes after its question, and stays in sight', async () => {
    let release = () => {};
    speak({ alpha: new Promise<void>((resolve) => (release = resolve)) });
    const { one, two, context } = await twoTabs();
    await begin(one, 'alpha');
    await two.goto(one.url());
    await say(two, 'two');
    await ended(two, 2000);
    await shows(one, ['alpha', 'reply to alpha', 'two', 'reply to two']);
    await shows(two, ['alpha', 'two', 'reply to two']);
    release();
    for (const page of [one, two]) await ended(page, 4000);
    for (const page of [one, two])
      await shows(page, ['alpha', 'reply to alpha', 'two', 'reply to two']);
    await context.close();
  });

  test('a conversation of one tab survives actions of the other, and a deleted one stays deleted', async () => {
    let release = () => {};
    speak({ three: new Promise<void>((resolve) => (release = resolve)) });
    const { one, two, context, faults } = await twoTabs();
    await begin(one, 'alpha');
    await ended(one, 2000);
    await begin(two, 'two');
    await ended(two, 2000);
    await begin(one, 'three');
    await lists(two, ['alpha', 'three', 'two']);
    await two.getByRole('button', { name: 'Actions for alpha' }).click();
    await two.getByRole('menuitem', { name: 'Delete' }).click();
    await two.getByRole('button', { name: 'Delete' }).click();
    await lists(one, ['three', 'two']);
    release();
    await ended(one, 2000);
    for (const page of [one, two]) await page.reload();
    for (const page of [one, two]) await lists(page, ['three', 'two']);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('a reply in a conversation that the other tab deletes is stopped', async () => {
    speak({ alpha: new Promise(() => {}) });
    const { one, two, context } = await twoTabs();
    await begin(one, 'alpha');
    await two.goto(one.url());
    await two.getByRole('button', { name: 'Actions for alpha' }).click();
    await two.getByRole('menuitem', { name: 'Delete' }).click();
    await two.getByRole('button', { name: 'Delete' }).click();
    await one.getByText('No conversations yet.').waitFor();
    const { signal } = service.fake.chats.at(-1)!;
    await until('the call is given up', () => signal.aborted);
    for (const page of [one, two]) await page.reload();
    for (const page of [one, two]) await page.getByText('No conversations yet.').waitFor();
    await context.close();
  });

  test('conversations in the old storage are migrated; the oldest make room', async () => {
    speak();
    const { one, context, faults, account } = await twoTabs();
    await one.goto(`${base}/studio/chat?model=fake/chat`);
    const long = 'x'.repeat(20_000);
    const before = Array.from({ length: 100 }, (_, n) => ({
      id: `id${n}`,
      title: `Old ${n}`,
      model: 'fake/chat',
      system: '',
      messages: [{ id: `m${n}`, role: 'user', content: long }],
      updated_at: `2026-01-01T00:00:00.${100 + n}Z`,
    }));
    const place = `farebox-chats ${account.account_id}`;
    await one.evaluate(`localStorage.setItem('${place}', '${JSON.stringify(before)}')`);
    await one.reload();
    await one.getByText('Old 99', { exact: true }).waitFor();
    assert.equal(await titles(one).count(), 100);
    assert.equal(await one.evaluate(`localStorage.getItem('${place}')`), null);
    await say(one, 'alpha');
    await ended(one, 2000);
    assert.equal(await titles(one).count(), 100);
    assert.equal(await one.getByText('Old 0', { exact: true }).count(), 0);

    // Fills the storage until nothing more fits.
    await one.evaluate(`for (let much = 2 ** 22; much >= 1; much /= 2) {
      const now = localStorage.getItem('full') ?? '';
      try { localStorage.setItem('full', now + 'x'.repeat(much)); } catch {}
    }`);
    await say(one, 'two');
    await ended(one, 4000);
    assert.equal(await one.getByText('Old 1', { exact: true }).count(), 0);
    await one.reload();
    await shows(one, ['alpha', 'reply to alpha', 'two', 'reply to two']);
    assert.equal(await titles(one).count(), 99);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
