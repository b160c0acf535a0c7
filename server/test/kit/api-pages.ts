import { readdirSync, readFileSync } from 'node:fs';
import { entries } from '../../src/http/site/entries.ts';

const docs = new URL('../../../docs/', import.meta.url);

/** The pages of the API for callers in their order, each calling what the ones before it made. */
export const apiPages = entries
  .filter(({ name }) => /^api(\/|$)/.test(name))
  .map(({ name }) => readFileSync(new URL(`${name}.md`, docs), 'utf8'));

/** The pages of the operator's API, `operator.md` first. */
export const operatorPages = readdirSync(new URL('api/', docs))
  .filter((name) => name.startsWith('operator'))
  .sort((a, b) => a.length - b.length)
  .map((name) => readFileSync(new URL(`api/${name}`, docs), 'utf8'));
