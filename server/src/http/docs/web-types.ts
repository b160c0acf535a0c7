import type { Endpoint } from '../session/endpoint.ts';
import type { WebRoute } from '../session/routes.ts';
import { bodyOf, comment, typeOf, type Printing } from './printed-types.ts';
import type { Schema } from './schema.ts';

/** The types of the web pages' calls, out of the schemas beside their handlers. */

const printing: Printing = { amount: 'string', nameOf: (name) => name };

const head = `// Made by \`npm run generate\` from the schemas beside the handlers.

/** What each call takes and answers; amounts are decimal texts of micro-USD, times ISO 8601. */
`;

export function webTypes(table: readonly WebRoute[]): string {
  const named = new Map<string, Schema>();
  const calls = table.flatMap(({ method, path, handler }) => {
    if (typeof handler === 'function') return [];
    const { query, body, reply } = (handler as Endpoint).shapes;
    const given = Object.entries({ query, body, reply }).flatMap(([name, each]) => {
      const schema = each as Schema | undefined;
      if (schema === undefined) return [];
      collect(schema, named);
      return [`    ${name}: ${typeOf(schema, printing, '    ')};\n`];
    });
    return [`  '${method} ${path}': {\n${given.join('')}  };\n`];
  });
  const types = [...named].map(
    ([name, schema]) =>
      `\n${comment(schema, '')}export type ${name} = ${bodyOf(schema, printing)};\n`,
  );
  return `${head}export interface Calls {\n${calls.join('')}}\n${types.join('')}`;
}

/** Notes every named schema within this one. Throws if two of one name differ. */
function collect(schema: Schema, named: Map<string, Schema>): void {
  const { title, properties, items, additionalProperties, anyOf } = schema;
  if (typeof title === 'string') {
    const { nullable: _, ...plain } = schema;
    const known = named.get(title);
    if (known && JSON.stringify(known) !== JSON.stringify(plain))
      throw new Error(`two schemas are named ${title}`);
    named.set(title, plain);
  }
  const inner = [properties && Object.values(properties), items, additionalProperties, anyOf];
  for (const each of inner.flat())
    if (typeof each === 'object' && each !== null) collect(each as Schema, named);
}
