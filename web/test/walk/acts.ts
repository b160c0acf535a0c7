/** Acts on a page before it is looked at; they work in both languages. */
import type { Page } from 'playwright-core';
import { password } from './life.ts';

type Act = (page: Page) => Promise<void>;

/** Presses these one after the other; the last one opens a dialog, a menu or a list. */
export function opening(...steps: string[]): Act {
  return async (page) => {
    for (const step of steps) await page.locator(step).first().click();
    await page.locator(':is([role=dialog], [role=menu], [role=listbox]):visible').last().waitFor();
  };
}

/** Opens the actions of the first row, or of another place, and presses one of them. */
export function choosing(nth: number, menu = 'main button[aria-haspopup=menu]'): Act {
  return async (page) => {
    await opening(menu, `[role=menuitem] >> nth=${nth}`)(page);
    await page.getByRole('dialog').waitFor();
  };
}

/** The first button of the page's head opens its dialog. */
export const openDialog = opening('main :is(button[data-variant=filled], .mantine-Button-root)');

export async function editRow(page: Page): Promise<void> {
  await page.locator('main tbody button, main li button').first().click();
  await page.getByRole('dialog').locator('form, section').first().waitFor();
}

export async function openTile(page: Page): Promise<void> {
  await page.locator('[data-tile]').first().press('Enter');
  await page.getByRole('dialog').locator('img, video').first().waitFor();
}

/** Selects the first picture of the library. */
export async function select(page: Page): Promise<void> {
  await page.locator('main button[data-variant=default]').first().click();
  await page.getByRole('toolbar').waitFor();
  await page.locator('[data-tile]').first().press('Enter');
  await page.getByRole('toolbar').locator('a').waitFor();
}

export async function deleteTile(page: Page): Promise<void> {
  await select(page);
  await opening('[role=toolbar] button:has(.tabler-icon-trash)')(page);
}

/** Asks the models, and waits for so many replies; without any, until they are being written. */
export function say(text: string, replies = 1): Act {
  return async (page) => {
    // The field before it is that of the system prompt.
    const field = page.locator('main textarea').last();
    await field.fill(text);
    await field.press('Enter');
    if (replies === 0) return page.locator('[data-writing]').first().waitFor();
    await page
      .locator('[data-cost]')
      .nth(replies - 1)
      .waitFor({ state: 'attached' });
  };
}

/** Puts a second model beside the first one. */
export function beside(then?: Act): Act {
  return async (page) => {
    await page.locator('main button:has(.tabler-icon-columns)').click();
    await page.locator('[data-count="2"]').waitFor();
    await then?.(page);
  };
}

/** Shows the secret of an authenticator app that is being turned on. */
export async function showSecret(page: Page): Promise<void> {
  await page.locator('main section:has(.tabler-icon-device-mobile-code) button').click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('input').first().fill(password);
  await dialog.locator('button[type=submit]').click();
  await dialog.locator('input[inputmode=numeric]').waitFor();
}

export async function refuse(page: Page): Promise<void> {
  await page.locator('input[type=email]').fill('nobody@example.com');
  await page.locator('input[autocomplete=current-password]').fill('a wrong password');
  await page.locator('button[type=submit]').click();
  await page.getByRole('alert').waitFor();
}
