import type { Row } from '../../row.ts';
import { clientTypeNames } from './client-types.ts';
import { collectNamed } from '../named.ts';
import { bodyOf, comment, oneLine, typeOf, type PrintOptions } from './printed-types.ts';
import type { Schema } from '../../schemas/schema.ts';

/** Prints the types of the web pages' calls from the schemas beside their handlers. */

const printing: PrintOptions = { amount: 'string', nameOf: (name) => name };

const head = `// Made by \`npm run generate\` from the schemas beside the handlers.

import type * as client from '../../client/src/types.ts';

/** A type of the client as it is sent: the client makes amounts bigint. */
type Wire<T> = T extends bigint ? string : T extends object ? { [K in keyof T]: Wire<T[K]> } : T;

/** Request and reply of each call; amounts are decimal texts of micro-USD, times ISO 8601. */
`;

/** `ofApi`: the named schemas of the public API, whose types the client has. */
export function webTypes(table: readonly Row[], ofApi: ReadonlyMap<string, Schema>): string {
  const named = new Map<string, Schema>();
  const calls = table.flatMap(({ method, path, shapes }) => {
    const { query, body, reply } = shapes;
    if (Object.keys(shapes).length === 0) return [];
    const given = Object.entries({ query, body, reply }).flatMap(([name, each]) => {
      if (each === undefined) return name === 'reply' ? ['reply: unknown;'] : [];
      collectNamed(each, named);
      return [`${name}: ${typeOf(each, printing, '    ')};`];
    });
    return [`  '${method} ${path}': ${oneLine(given, '  ')};\n`];
  });
  const ofClient = clientTypeNames(ofApi);
  const bodies = [...named].map(([name, schema]) => {
    const theirs = ofClient.get(name);
    return [name, theirs ? `Wire<client.${theirs}>` : extended(name, schema, named)] as const;
  });
  const whole = [...calls, ...bodies.map(([, body]) => body)].join('\n');
  // Types that only the client's types mention are left to the client.
  const types = bodies
    .filter(([name]) => new RegExp(`(?<!client\\.)\\b${name}\\b`).test(whole))
    .map(([name, body]) => `\n${comment(named.get(name)!, '')}export type ${name} = ${body};\n`);
  return `${head}export interface Calls {\n${calls.join('')}}\n${types.join('')}`;
}

/** Least number of fields of a base type: types may share fewer fields by coincidence. */
const sharedMin = 7;

/** The body of a type; if it has all fields of another type, it extends that type. */
function extended(name: string, schema: Schema, named: ReadonlyMap<string, Schema>): string {
  const [base] = [...named]
    .filter(([other, each]) => other !== name && hasAllOf(schema, each))
    .toSorted(([, a], [, b]) => fieldsOf(b).length - fieldsOf(a).length);
  if (!base) return bodyOf(schema, printing);
  const inherited = new Set(fieldsOf(base[1]).map(([field]) => field));
  const own = fieldsOf(schema).filter(([field]) => !inherited.has(field));
  const rest = { ...schema, properties: Object.fromEntries(own) };
  return `${base[0]} & ${bodyOf(rest, printing)}`;
}

function hasAllOf(schema: Schema, base: Schema): boolean {
  const all = new Set(printedFields(schema));
  const theirs = printedFields(base);
  return theirs.length >= sharedMin && theirs.every((field) => all.has(field));
}

function printedFields(schema: Schema): string[] {
  return fieldsOf(schema).map(([name, field]) =>
    bodyOf({ ...schema, properties: { [name]: field } }, printing),
  );
}

function fieldsOf({ properties = {} }: Schema): [string, Schema][] {
  return Object.entries(properties);
}
