import { existsSync } from 'node:fs';
import { link, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { ImportedRow } from '../core/catalog/imported-row.ts';
import { plain } from '../core/catalog/imported-row.ts';
import type { LeftOut } from '../core/catalog/offer.ts';
import type { DefinitionForm } from '../core/catalog/upstream-definition.ts';

/** Writes a catalog file for people to read and change. */

export interface CatalogText {
  /** A line of the comment at its top each. */
  head: string[];
  /** Its definition, or its name where another file defines it. */
  upstream: string | DefinitionForm;
  rows: ImportedRow[];
  left_out: LeftOut[];
}

const columns = 100;
const commentMax = 400;

export function catalogYaml({ head, upstream, rows, left_out }: CatalogText): string {
  const models = rows.map((row) => textOf(row));
  const isEmpty = rows.every(({ unpriced }) => unpriced);
  return [
    ...head.map(comment),
    yaml({ upstream }).trimEnd(),
    '',
    isEmpty ? 'models: []' : 'models:',
    ...(isEmpty && rows.length > 0
      ? [comment('Write models: without the [] as soon as a row has its price.')]
      : []),
    ...models,
    ...leftOut(left_out),
    '',
  ].join('\n');
}

function textOf({ row, notes, unpriced }: ImportedRow): string {
  const price = row.price as object;
  const shown = unpriced ? { ...row, price: { ...price, usd: 'PRICE' } } : row;
  const lines = yaml([shown])
    .trimEnd()
    .split('\n')
    .map((line) => (unpriced ? `#  ${line}` : `  ${line}`));
  return [...notes.map((note) => `  ${comment(note)}`), ...lines, ''].join('\n');
}

function leftOut(left_out: LeftOut[]): string[] {
  if (left_out.length === 0) return [];
  const lines = left_out.map(({ model, reason }) => comment(`  ${plain(model, 200)}: ${reason}`));
  return [comment('Left out:'), ...lines];
}

/** On one line, whatever is in it. */
function comment(text: string): string {
  const indent = /^ */.exec(text)![0];
  return `# ${indent}${plain(text, commentMax)}`;
}

function yaml(value: unknown): string {
  return stringify(value, {
    version: '1.2',
    schema: 'core',
    lineWidth: columns,
    aliasDuplicateObjects: false,
  });
}

export function exists(file: string): boolean {
  return existsSync(file);
}

/**
 * Writes a file that appears whole or not at all, as a running service reads the folder. False: it
 * is there already, and is not to be replaced.
 */
export async function writeWhole(file: string, text: string, replaces: boolean): Promise<boolean> {
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}`);
  await writeFile(draft, text, { flag: 'wx' });
  try {
    if (replaces) await rename(draft, file);
    else await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
