/** Several models side by side in the studio's chat, and files in messages, in a real browser. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { tinyPng, type SaidChat } from '../../../server/test/kit/fake.ts';
import { fakeCatalog, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';
import {
  assertClear,
  desktop,
  enter,
  openBrowser,
  overflowOf,
  phone,
  withoutBrowser,
  type VisitOptions,
} from '../browser.ts';

const finishing = 'Fake chat that is read to its end';
/** The second chat has a name of its own at the upstream, so that replies differ. */
const catalog = fakeCatalog.replace(
  /(name: Fake chat that is read to its end[^]*?upstream_model: )chat/,
  '$1second',
);

describe('the chat', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let base: string;
  before(async () => {
    service = await startWebService({ catalog });
    base = originOf(service);
  });
  after(async () => {
    await service.audit();
    await service.stop();
  });

  async function visit({ usd = 10, ...options }: VisitOptions & { usd?: number } = {}) {
    const account = await service.account({ usd });
    const who = await person(service, { [account.account_id]: 'developer' });
    const one = await enter(await openBrowser(), base, who, options);
    await one.page.goto(`${base}/studio/chat?model=fake/chat`);
    await one.page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
    return { ...one, account };
  }

  /** Replies "MODEL: TEXT" to a text, at a dollar and two for a million tokens. */
  function speak(hold?: (model: string) => Promise<void> | undefined): void {
    service.fake.behave = {
      chat: (call) => ({
        outcome: 'stream',
        chunks: (async function* () {
          const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
          const delta = { content: `${String(call.model)}: ${lastText(call)}` };
          yield { ...head, choices: [{ index: 0, delta, finish_reason: null }] };
          await hold?.(String(call.model));
          yield { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
          yield { ...head, choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500 } };
        })(),
      }),
    };
  }

  function lastText({ body }: SaidChat): string {
    const { content } = (body.messages as { content: string | { text?: string }[] }[]).at(-1)!;
    return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
  }

  const say = async (page: Page, text: string) => {
    await page.getByLabel('Write a message').fill(text);
    const button = page.getByRole('button', { name: 'Send', exact: true });
    await until('it may be sent', () => button.isEnabled());
    await priced(page);
    await page.getByLabel('Write a message').press('Enter');
  };
  const priced = (page: Page) => page.locator('[data-ceiling]').filter({ hasText: '$' }).waitFor();
  const ceiling = (page: Page) => page.locator('[data-ceiling]').getAttribute('data-ceiling');
  const add = (page: Page) => page.getByRole('button', { name: 'Add a model' }).click();
  const column = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
  const total = (page: Page, cost: number) =>
    page.locator(`[data-conversation-cost="${cost}"]`).waitFor();

  async function charges({ account_id }: TestAccount): Promise<bigint[]> {
    const rows = await service.db.run<{ charged_usd_micro: bigint }>(
      rawSql('select charged_usd_micro from requests where account_id = $1', [account_id]),
    );
    return rows.map(({ charged_usd_micro }) => charged_usd_micro);
  }

  test('asks two models at once, for the sum of two prices that stand before it', async () => {
    speak();
    const { page, context, account, faults } = await visit();
    await add(page);
    const each = page.locator('[data-ceiling-of]');
    await until(
      'each price is there',
      async () => !(await each.allInnerTexts()).join().includes('…'),
    );
    assert.equal(await each.count(), 2);
    await assertClear(page, 'chat-beside-empty');
    await say(page, 'a pier');
    await total(page, 4000);
    assert.deepEqual(await charges(account), [2000n, 2000n]);
    for (const name of ['Fake chat', finishing])
      await column(page, name)
        .getByText(/: a pier$/)
        .waitFor();
    await assertClear(page, 'chat-beside');
    assert.equal(await overflowOf(page), 0);

    await page.reload();
    await total(page, 4000);
    await say(page, 'a mole');
    await total(page, 8000);
    const sent = service.fake.chats.slice(-2).map(({ body }) => body.messages as unknown[]);
    assert.deepEqual(
      sent.map(({ length }) => length),
      [3, 3],
    );
    await page.getByRole('button', { name: 'Conversations', exact: true }).click();
    const list = page.getByRole('navigation', { name: 'Conversations' });
    await list.getByText('2 models').waitFor();
    assert.equal(await list.getByText('a pier').count(), 1, 'both are one entry');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('one model fails: its column says so and asks again, the other keeps its reply', async () => {
    speak();
    const good = service.fake.behave.chat!;
    service.fake.behave = {
      chat: (call) =>
        call.model === 'chat' ? good(call) : { outcome: 'rejected', message: 'Not today.' },
    };
    const { page, context, account } = await visit();
    await add(page);
    await say(page, 'a pier');
    await column(page, finishing).getByRole('alert').waitFor();
    await column(page, 'Fake chat')
      .getByText(/: a pier$/)
      .waitFor();
    await total(page, 2000);
    speak();
    await column(page, finishing).getByRole('button', { name: 'Try again' }).click();
    await total(page, 4000);
    assert.deepEqual(
      (await charges(account)).filter((cost) => cost > 0n),
      [2000n, 2000n],
    );
    await context.close();
  });

  test('a balance for one of two replies sends none, and keeps what is written', async () => {
    const rich = await visit();
    const one = Number(await ceiling(rich.page));
    await rich.context.close();
    const { page, context, account } = await visit({ usd: Math.round(one * 1.5) / 1e6 });
    await add(page);
    await page.getByLabel('Write a message').fill('a pier');
    await page.getByText(/Not enough balance/).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true);
    await page.getByRole('button', { name: 'Close Fake chat', exact: true }).click();
    assert.equal(await page.getByLabel('Write a message').inputValue(), 'a pier');
    assert.deepEqual(await charges(account), []);
    await context.close();
  });

  test('a model joins with what was said, and leaves without a trace until it has spoken', async () => {
    speak();
    const { page, context, account } = await visit();
    await say(page, 'a pier');
    await total(page, 2000);
    await page.getByLabel('Write a message').fill('half a thought');
    await add(page);
    await column(page, finishing)
      .getByText(/: a pier$/)
      .waitFor();
    assert.equal(await page.getByLabel('Write a message').inputValue(), 'half a thought');
    await total(page, 2000);
    await page.getByRole('button', { name: `Close ${finishing}` }).click();
    await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
    assert.equal(await page.getByText('a pier', { exact: true }).count(), 2, 'title and question');
    assert.equal(await page.getByLabel('Write a message').inputValue(), 'half a thought');

    await add(page);
    await say(page, 'a mole');
    await total(page, 6000);
    await page.getByRole('button', { name: 'Close Fake chat', exact: true }).click();
    // Both go on alone, with what each has cost.
    await total(page, 2000);
    const list = page.getByRole('navigation', { name: 'Conversations' });
    assert.equal(await list.getByText('a pier').count(), 2);
    await list.getByText('$0.004').click();
    await total(page, 4000);
    assert.deepEqual(await charges(account), [2000n, 2000n, 2000n]);
    await context.close();
  });

  test('on a phone one model is shown at a time', async () => {
    speak();
    const { page, context, account } = await visit({ viewport: phone });
    await add(page);
    await say(page, 'a pier');
    await total(page, 4000);
    await column(page, 'Fake chat').waitFor();
    assert.equal(await column(page, finishing).isVisible(), false);
    await page.getByText(finishing, { exact: true }).first().click();
    await column(page, finishing).waitFor();
    assert.equal(await column(page, 'Fake chat').isVisible(), false);
    assert.equal(await overflowOf(page), 0);
    await assertClear(page, 'chat-beside-phone');
    assert.deepEqual(await charges(account), [2000n, 2000n]);
    await context.close();
  });

  test('Stop ends all replies, and each costs what came of it', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    speak(() => held);
    const { page, context, account } = await visit({ viewport: desktop });
    await add(page);
    await say(page, 'a pier');
    await page
      .getByText(/: a pier$/)
      .nth(1)
      .waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('Stopped').nth(1).waitFor();
    release();
    await page.locator('[data-cost]').nth(1).waitFor();
    const costs = await page.locator('[data-cost]').all();
    const shown = await Promise.all(costs.map((each) => each.getAttribute('data-cost')));
    assert.deepEqual(shown.toSorted(), (await charges(account)).map(String).toSorted());
    assert.equal((await service.balance(account)).reserved, 0n);
    await context.close();
  });

  const pdf = Buffer.from(
    '%PDF-1.4\n1 0 obj <</Type/Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF',
  );
  const kinds = {
    image: { name: 'dot.png', mimeType: 'image/png', buffer: tinyPng },
    PDF: { name: 'сводка 🧾.pdf', mimeType: 'application/pdf', buffer: pdf },
    text: { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Piers\n') },
  };
  const button = (page: Page) => page.getByRole('button', { name: /Add a file/ });

  async function choose(page: Page, file: (typeof kinds)['PDF']): Promise<void> {
    const choosing = page.waitForEvent('filechooser');
    await button(page).click();
    await (await choosing).setFiles(file);
  }

  for (const [kind, file] of Object.entries(kinds))
    test(`sends a file: ${kind}`, async () => {
      speak();
      const { page, context, faults } = await visit();
      await choose(page, file);
      const shown = kind === 'image' ? page.getByAltText(file.name) : page.getByText(file.name);
      await shown.waitFor();
      await say(page, 'what is it');
      await total(page, 2000);
      const [said] = service.fake.chats.at(-1)!.body.messages as { content: { type: string }[] }[];
      const parts = said!.content.map(({ type }) => type);
      assert.deepEqual(parts, [
        'text',
        kind === 'image' ? 'image_url' : kind === 'PDF' ? 'file' : parts[1],
      ]);
      await page.reload();
      await shown.first().waitFor();
      await assertClear(page, `chat-file-${kind}`);
      assert.deepEqual(faults, []);
      await context.close();
    });

  const wrong = {
    'a film': { name: 'clip.avi', bytes: 'RIFF\0\0\0\0AVI LIST' },
    'an archive': { name: 'all.zip', bytes: 'PK\u0003\u0004' },
    'a program': { name: 'run.exe', bytes: `MZ${'\0'.repeat(64)}` },
  };
  for (const [what, { name, bytes }] of Object.entries(wrong))
    test(`${what} is dropped: the chat says what it takes, and sends nothing`, async () => {
      const { page, context } = await visit();
      await page.getByLabel('Write a message').fill('what is it');
      const uploads: string[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/v1/files')) uploads.push(request.url());
      });
      const given = await page.evaluateHandle(`{
        const data = new DataTransfer();
        const bytes = Uint8Array.from(${JSON.stringify(bytes)}, (letter) => letter.codePointAt(0));
        data.items.add(new File([bytes], ${JSON.stringify(name)}));
        data;
      }`);
      await page.getByLabel('Write a message').dispatchEvent('drop', { dataTransfer: given });
      await page
        .getByRole('alert')
        .getByText(/PDF and text files/)
        .waitFor();
      await page.getByText(name).waitFor();
      assert.equal(await page.getByLabel('Write a message').inputValue(), 'what is it');
      assert.deepEqual(uploads, []);
      await context.close();
    });

  test('the model beside takes no PDF: it says so before anything is sent', async () => {
    const { page, context, account } = await visit();
    await choose(page, kinds.PDF);
    await page.getByText(kinds.PDF.name).waitFor();
    await add(page);
    await page.getByLabel('Write a message').fill('what is it');
    await page
      .getByText(new RegExp(`${finishing}.* images`))
      .first()
      .waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true);
    assert.deepEqual(await charges(account), []);
    await context.close();
  });

  test('a file outlives the service: it is uploaded again, and goes along to another browser', async () => {
    speak();
    const { page, context, account } = await visit();
    await choose(page, kinds.PDF);
    await page.getByText(kinds.PDF.name).waitFor();
    await say(page, 'what is it');
    await total(page, 2000);
    await page.evaluate(`{
      const over = '"expires_at":"2020-01-01T00:00:00.000Z"';
      for (const [place, text] of Object.entries(localStorage))
        localStorage.setItem(place, text.replace(/"expires_at":"[^"]*"/, over));
    }`);
    await service.db.run(rawSql('delete from files where account_id = $1', [account.account_id]));
    const again = page.waitForResponse(/\/v1\/files$/);
    await page.reload();
    assert.equal((await again).status(), 201);
    await say(page, 'and now');
    await total(page, 4000);

    await page.getByRole('button', { name: 'Actions for what is it' }).click();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Save as JSON' }).click(),
    ]);
    const buffer = await readFile(await saved.path());
    await context.close();

    const other = await visit();
    await other.page
      .getByLabel('Load a file')
      .setInputFiles({ name: 'chat.json', mimeType: 'application/json', buffer });
    const uploaded = other.page.waitForResponse(/\/v1\/files$/);
    await other.page.getByText('what is it').click();
    assert.equal((await uploaded).status(), 201);
    await say(other.page, 'still there?');
    await total(other.page, 6000);
    await other.context.close();
  });
});
