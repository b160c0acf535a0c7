/** Whole journeys by the keyboard alone: Tab and Enter, and the keys that write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../server/test/kit/until.ts';
import { drawn, isFocused, openBrowser, visitor, withoutBrowser } from './browser.ts';
import { startTrial } from './walk/world.ts';

/** More stops than any page has before the wanted one. */
const stopsMax = 150;

/** Goes on with Tab to a control, which is then in sight and marked. */
async function tabTo(control: Locator): Promise<void> {
  const page = control.page();
  await control.first().waitFor();
  for (let stops = 0; !(await isFocused(control.first())); stops++) {
    assert.ok(stops < stopsMax, `Tab does not reach ${String(control)}`);
    await page.keyboard.press('Tab');
  }
  await page.evaluate(drawn);
  assert.deepEqual(await page.evaluate(hidden), [], String(control));
}

/** In a page: faults of the focused element, for somebody who has no mouse. */
const hidden = `(() => {
  const element = document.activeElement;
  const { left, top, width, height } = element.getBoundingClientRect();
  const over = document.elementFromPoint(left + width / 2, top + height / 2);
  const isInSight = over !== null && (element.contains(over) || over.contains(element));
  // The frame of a field of several parts; and the same without the focus.
  const framed = element.closest('[class*=Input-input]') ?? element;
  const rested = framed.cloneNode();
  framed.after(rested);
  const looks = [framed, rested].map((each) => {
    const { outline, boxShadow, borderColor, backgroundColor } = getComputedStyle(each);
    return [outline, boxShadow, borderColor, backgroundColor].join();
  });
  rested.remove();
  return [...(isInSight ? [] : ['out of sight']), ...(looks[0] === looks[1] ? ['not marked'] : [])];
})()`;

async function press(control: Locator): Promise<void> {
  await tabTo(control);
  await control.page().keyboard.press('Enter');
}

async function write(control: Locator, text: string): Promise<void> {
  await tabTo(control);
  await control.page().keyboard.type(text);
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).last();
const link = (page: Page, name: string | RegExp) => page.getByRole('link', { name }).first();

test('the keyboard is enough', { skip: withoutBrowser() ?? false }, async (t) => {
  const { web } = await startTrial(t);
  const browser = await openBrowser();
  let made = '';

  await t.test('to sign up, pay, make a picture and find it again', async () => {
    const { page, context, faults } = await visitor(browser);
    await page.goto(web.url);
    await press(link(page, 'Create account'));
    await write(page.locator('input[autocomplete=name]'), 'Ada');
    await write(page.locator('input[type=email]'), 'ada@example.com');
    await write(page.locator('input[autocomplete=new-password]'), 'a battery of horses');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/dashboard$/);

    await press(page.locator('main a[href="/dashboard/money/top-up"]'));
    await press(button(page, 'Send me 25 test USDT'));
    await page.locator('header').getByText('$25.00').waitFor();

    await press(link(page, 'Studio'));
    await page.waitForURL(/\/studio$/);
    await press(page.locator('[data-model-card][href$="/sandbox/canvas/text-to-image"]'));
    await write(page.getByLabel('Prompt'), 'a heron at the harbour');
    await page.locator('[data-price][data-fresh]').waitFor();
    await press(button(page, 'Run'));
    await page.locator('[data-stage][data-status=COMPLETED] img').first().waitFor();

    await press(link(page, 'Library'));
    await press(page.locator('[data-tile]'));
    await press(page.getByRole('dialog').getByRole('link', { name: 'Open the request' }));
    await page.waitForURL(/\/dashboard\/requests\/[0-9a-f-]{36}$/);
    await page.getByText('a heron at the harbour').first().waitFor();
    made = page.url().split('/').at(-1)!;
    assert.deepEqual(faults, []);
    await context.close();
  });

  await t.test('to refund a request in the console', async () => {
    const { page, context, faults } = await visitor(browser);
    await page.goto(`${web.url}/sign-in?to=/operator`);
    await write(page.locator('input[type=email]'), 'operator@farebox.local');
    await write(page.locator('input[autocomplete=current-password]'), web.password);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/operator$/);

    await press(link(page, 'Requests'));
    await press(page.locator(`main a[href="/operator/requests/${made}"]`));
    await press(button(page, 'Refund'));
    const dialog = page.getByRole('dialog');
    await write(dialog.getByLabel(/Reference/), 'ticket 7');
    await write(dialog.getByLabel(/Reason/), 'the picture was blurred');
    await press(dialog.getByRole('button', { name: 'Refund' }));
    await dialog.waitFor({ state: 'detached' });
    await page
      .getByText(/refunded/i)
      .first()
      .waitFor();
    await until('the focus is on the page again', async () => {
      return !(await isFocused(page.locator('body')));
    });
    await until('nothing is left to refund', async () => {
      return (await button(page, 'Refund').count()) === 0;
    });
    assert.deepEqual(faults, []);
    await context.close();
  });
});
