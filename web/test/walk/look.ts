/** One row of the tables of pages. */
import type { Page } from 'playwright-core';
import type { Life } from './life.ts';

/** The people who look, by the address that signs in. */
export const visitors = {
  nobody: null,
  demo: 'demo@farebox.local',
  operator: 'operator@farebox.local',
  newcomer: 'newcomer@example.com',
  debtor: 'debtor@example.com',
  reader: 'reader@example.com',
} as const;
export type Visitor = keyof typeof visitors;
export const visitorNames = Object.keys(visitors) as Visitor[];

export interface Look {
  name: string;
  /** An address, or the route of an address that depends on the data. */
  path: string | ((life: Life) => string);
  who: Visitor;
  /** Actions before the page is looked at; they work in both languages. */
  first?: (page: Page) => Promise<unknown>;
  /** Calls that fail while the page is looked at. */
  fails?: RegExp;
  /** The only language of a public page. */
  only?: 'en' | 'ru';
}

/** The rows of one visitor, by their names. */
export const all = (
  who: Visitor,
  rows: Record<string, Look['path'] | Omit<Look, 'name' | 'who'>>,
) =>
  Object.entries(rows).map(([name, row]): Look => {
    const rest = typeof row === 'object' ? row : { path: row };
    return { name, who, ...rest };
  });
