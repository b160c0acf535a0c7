/**
 * Every page, with the state that it needs. The walk tries it in each window, scheme and language;
 * `npm run pictures` takes pictures of `looks`.
 */
import * as dashboard from './dashboard-rows.ts';
import type { Look } from './look.ts';
import * as operator from './operator-rows.ts';
import * as site from './site-rows.ts';
import * as studio from './studio-rows.ts';

const areas = { site, dashboard, studio, operator };
export type Area = keyof typeof areas;
export const areaNames = Object.keys(areas) as Area[];

/** The test files that share the rows of an area, so that each ends within minutes. */
export const filesOf: Record<Area, number> = { site: 1, dashboard: 3, studio: 2, operator: 3 };

/** Every page, once. */
export const looks: Look[] = areaNames.flatMap((area) => areas[area].looks);

/** The same pages empty, in trouble, or with something open. */
export const states: Look[] = areaNames.flatMap((area) => areas[area].states);

export function rowsOf(area: Area): Look[] {
  return [...areas[area].looks, ...areas[area].states];
}

/** The rows of the area's n-th test file, from 1. */
export function rowsOfFile(area: Area, nth: number): Look[] {
  return rowsOf(area).filter((_, i) => i % filesOf[area] === nth - 1);
}
