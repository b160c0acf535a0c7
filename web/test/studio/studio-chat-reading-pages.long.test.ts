/** Reading a conversation in the studio: scrolling, and the Markdown of replies. */
import type { SaidReply } from '../../../server/test/kit/fake.ts';
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  desktop,
  barriers,
  enter,
  openBrowser,
  overflowOf,
  picture,
  sizes,
  withoutBrowser,
} from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';

/** The part of a list item in a page that these tests read. */
interface Item {
  firstChild: { textContent: string | null } | null;
}

describe('a conversation in the studio', { skip: withoutBrowser() ?? false }, () => {
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
    await one.page.goto(`${base}/studio/chat?model=fake/chat`);
    return one;
  }

  async function say(page: Page, text: string): Promise<void> {
    await page.getByLabel('Write a message').fill(text);
    await page.keyboard.press('Enter');
  }

  /** Streams the pieces of a reply; a promise among them delays the later pieces. */
  const speak = (pieces: (string | Promise<void>)[]) => (): SaidReply => ({
    outcome: 'stream',
    chunks: (async function* () {
      const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
      for (const piece of pieces) {
        if (typeof piece !== 'string') await piece;
        else {
          const choices = [{ index: 0, delta: { content: piece }, finish_reason: null }];
          yield { ...head, choices };
        }
      }
      yield { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
      yield { ...head, choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } };
    })(),
  });

  const paragraphs = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => `Paragraph ${from + i} of the reply.\n\n`);

  /** The distance of the page from its end, in pixels. */
  const gapOf = (page: Page) =>
    page.evaluate<number>(
      'Math.round(document.documentElement.scrollHeight - window.scrollY - window.innerHeight)',
    );
  const topOf = (page: Page) => page.evaluate<number>('window.scrollY');

  /** Asserts that no part of this text is behind the composer. */
  async function inSight(page: Page, text: string): Promise<void> {
    const composer = page.getByLabel('Write a message');
    await until(`“${text}” is in sight`, async () => {
      const box = await page.getByText(text, { exact: true }).boundingBox();
      const below = await composer.boundingBox();
      return box !== null && below !== null && box.y > 0 && box.y + box.height <= below.y;
    });
  }

  for (const [size, viewport] of sizes) {
    test(`keeps new text in sight, and opens at its end, at ${size} width`, async () => {
      const { page, context, faults } = await visit(viewport);
      for (const round of [0, 1, 2]) {
        let release = () => {};
        const held = new Promise<void>((resolve) => (release = resolve));
        const from = round * 40;
        service.fake.behave = {
          chat: speak([...paragraphs(from, from + 20), held, ...paragraphs(from + 20, from + 40)]),
        };
        await say(page, `Question ${round}`);
        await inSight(page, `Paragraph ${from + 19} of the reply.`);
        release();
        await inSight(page, `Paragraph ${from + 39} of the reply.`);
        await page.locator('[data-cost]').nth(round).waitFor();
      }
      await until('the page is at its end', async () => (await gapOf(page)) < 2);
      assert.equal(await page.getByRole('button', { name: 'Latest messages' }).count(), 0);
      await page.reload();
      await inSight(page, 'Paragraph 119 of the reply.');
      await until('it opens at its end', async () => (await gapOf(page)) < 2);
      assert.deepEqual(await barriers(page), []);
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('does not move a reader who scrolled up, and leads to new text on request', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    service.fake.behave = { chat: speak([...paragraphs(0, 60), held, ...paragraphs(60, 90)]) };
    const { page, context } = await visit(desktop, 'dark');
    await say(page, 'Tell me');
    await inSight(page, 'Paragraph 59 of the reply.');
    await page.mouse.move(700, 300);
    await page.mouse.wheel(0, -900);
    const button = page.getByRole('button', { name: 'Latest messages' });
    await button.waitFor();
    const before = await topOf(page);
    release();
    await page.locator('[data-cost]').waitFor();
    assert.equal(await topOf(page), before);
    assert.ok((await gapOf(page)) > 900);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'chat-behind-dark');
    await button.click();
    await inSight(page, 'Paragraph 89 of the reply.');
    await button.waitFor({ state: 'detached' });
    await page.mouse.wheel(0, -900);
    await button.waitFor();
    service.fake.behave = { chat: speak(['A short answer.']) };
    await say(page, 'And now?');
    await inSight(page, 'A short answer.');
    await context.close();
  });

  const answer = [
    '1. Book\n   - flight &amp; hotel\n   - [x] insurance\n2. Pack\n\n3. Run it\n',
    '| Name | Price |\n|:--|--:|\n| a \\| b | ~~$2~~ $1 |\n| line<br>two | $3 |\n',
    'See [the wiki](https://example.com/a_(b)) or [this](javascript:alert(1)).',
    '```md\n**not bold**\n```',
    '<img src=x onerror=alert(1)>',
  ].join('\n\n');

  test('shows lists, tables, tasks, links and code as they were written', async () => {
    service.fake.behave = { chat: speak([answer]) };
    const { page, context, faults } = await visit();
    await say(page, 'How?');
    await page.locator('[data-cost]').waitFor();
    const log = page.getByRole('log');
    const top = log.locator('ol > li');
    await top.first().waitFor();
    assert.deepEqual(
      await top.evaluateAll((all: Item[]) => all.map((li) => li.firstChild?.textContent)),
      ['Book', 'Pack', 'Run it'],
    );
    assert.deepEqual(await top.first().locator('ul > li').allInnerTexts(), [
      'flight & hotel',
      'insurance',
    ]);
    const task = log.getByRole('checkbox', { name: 'Done' });
    assert.deepEqual([await task.isChecked(), await task.isDisabled()], [true, true]);
    assert.deepEqual(await log.locator('td').allInnerTexts(), [
      'a | b',
      '$2 $1',
      'line\ntwo',
      '$3',
    ]);
    assert.equal(await log.locator('del').innerText(), '$2');
    const aligned = await page.evaluate<string>(
      "getComputedStyle(document.querySelectorAll('[role=log] td')[1]).textAlign",
    );
    assert.equal(aligned, 'right');
    const links = log.locator('a[href]');
    assert.equal(await links.count(), 1);
    assert.equal(await links.getAttribute('href'), 'https://example.com/a_(b)');
    assert.match(await log.innerText(), /\[this\]\(javascript:alert\(1\)\)/);
    assert.equal((await log.locator('pre').innerText()).trim(), '**not bold**');
    assert.equal(await log.locator('img').count(), 0);
    assert.match(await log.innerText(), /<img src=x onerror=alert\(1\)>/);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'chat-markdown');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('shows no Markdown marks while text is written', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    service.fake.behave = { chat: speak(['Say **this', held, ' loud** now']) };
    const { page, context } = await visit();
    await say(page, 'What?');
    await page.locator('strong', { hasText: /^this$/ }).waitFor();
    assert.doesNotMatch(await page.getByRole('log').innerText(), /\*/);
    release();
    await page.locator('strong', { hasText: /^this loud$/ }).waitFor();
    await context.close();
  });

  const long = Array.from({ length: 40 }, (_, i) => `const line${i} = 'text ${i}'; // ${i}`);
  const worked = [
    'It costs $5 and $10. Then \\(x_1 + y^2\\) and $\\frac{a}{b}$ hold:\n\n',
    '$$\n\\int_0^1 x\\,dx = \\frac{1}{2}\n$$\n\n',
    'Not this: $\\href{javascript:alert(1)}{x}$ nor $\\includegraphics{https://a.example/x.png}$.\n\n',
    `\`\`\`ts\n${long.join('\n')}\n\`\`\`\n\n`,
    '```css\n.a { color: #fff; margin: 0 }\n```\n\n```diff\n- old\n+ new\n```\n\n',
    '```py\n@wraps\ndef f(x: int) -> str:\n    """Text."""\n    return f"{x!r}" if x else None\n```',
  ];

  for (const scheme of ['light', 'dark'] as const) {
    for (const [size, viewport] of sizes) {
      test(`colours code and draws formulas, ${scheme}, at ${size} width`, async () => {
        service.fake.behave = { chat: speak(worked) };
        const { page, context, faults } = await visit(viewport, scheme);
        const asked: string[] = [];
        page.on('request', (request) => asked.push(request.url()));
        await say(page, 'Show me');
        await page.locator('[data-cost]').waitFor();
        const log = page.getByRole('log');
        await log.locator('math mfrac').nth(1).waitFor();
        await log.locator('pre span').first().waitFor();
        assert.equal(await log.locator('math').count(), 3);
        const text = await log.innerText();
        assert.match(text, /It costs \$5 and \$10\. Then/);
        assert.match(text, /Not this: \$\\href\{javascript:alert\(1\)\}\{x\}\$ nor \$\\include/);
        assert.doesNotMatch(text, /line20\b/);
        await log.getByRole('button', { name: 'Show all 40 lines' }).click();
        assert.match(await log.innerText(), /line39\b/);
        assert.deepEqual(await barriers(page), []);
        assert.equal(await overflowOf(page), 0);
        await page.evaluate('window.scrollTo(0, 0)');
        await picture(page, `chat-formulas-${size}-${scheme}`);
        const elsewhere = asked.filter((url) => !url.startsWith(base));
        assert.deepEqual([elsewhere, faults], [[], []]);
        await context.close();
      });
    }
  }

  test('colours code only once it is written, and loads the colours only then', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    service.fake.behave = { chat: speak(['```js\nconst a = 1;\n', held, 'let b;\n```\n\nDone.']) };
    const { page, context, faults } = await visit();
    const scripts: string[] = [];
    page.on('request', (request) => scripts.push(request.url()));
    await say(page, 'Show me');
    const code = page.getByRole('log').locator('pre');
    await code.getByText('const a = 1;').waitFor();
    assert.equal(await code.locator('span').count(), 0);
    const loaded = (name: string) => scripts.some((url) => url.includes(`/${name}-`));
    assert.equal(loaded('ColouredCode'), false);
    release();
    await code.locator('span', { hasText: /^let$/ }).waitFor();
    assert.deepEqual([loaded('ColouredCode'), loaded('Formula')], [true, false]);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
