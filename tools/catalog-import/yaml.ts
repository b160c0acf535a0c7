import { stringify } from 'yaml';
import { objectOf } from '../../server/src/lib/json.ts';
import { plain } from './row.ts';
import type { Json, LeftOut, Row } from './vendor.ts';

const columns = 100;
const commentMax = 400;

export interface CatalogFile {
  /** Lines of the comment at the file's head. */
  head: string[];
  /** The upstream's definition, or the name of an upstream that another file defines. */
  upstream: string | Json;
  rows: Row[];
  left_out: LeftOut[];
}

/** The text of a catalog file, for people to read and change. */
export function catalogYaml({ head, upstream, rows, left_out }: CatalogFile): string {
  const isEmpty = rows.every(({ unpriced }) => unpriced);
  const hint = 'Write models: without the [] as soon as a row has its price.';
  return [
    ...head.map(comment),
    yaml({ upstream }),
    isEmpty ? 'models: []' : 'models:',
    ...(isEmpty && rows.length > 0 ? [comment(hint)] : []),
    ...rows.map(textOf),
    ...(left_out.length > 0 ? [comment('Left out:')] : []),
    ...left_out.map(({ model, reason }) => comment(`  ${plain(model, 200)}: ${reason}`)),
  ].join('\n');
}

function textOf({ row, notes, unpriced }: Row): string {
  const shown = unpriced ? { ...row, price: { ...objectOf(row.price), usd: 'PRICE' } } : row;
  const indented = yaml([shown]).replaceAll(/^(?=.)/gm, unpriced ? '#  ' : '  ');
  return [...notes.map((note) => `  ${comment(note)}`), indented].join('\n');
}

function comment(text: string): string {
  const [indent] = /^ */.exec(text)!;
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
