import type { Endpoint } from '../session/endpoint.ts';
import type { WebRoute } from '../session/routes.ts';
import { collectNamed } from './named.ts';
import { bodyOf, comment, typeOf, type Printing } from './printed-types.ts';
import type { Schema } from './route-docs.ts';

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
      if (each === undefined) return name === 'reply' ? ['    reply: unknown;\n'] : [];
      collectNamed(each, named);
      return [`    ${name}: ${typeOf(each as Schema, printing, '    ')};\n`];
    });
    return [`  '${method} ${path}': {\n${given.join('')}  };\n`];
  });
  const types = [...named].map(
    ([name, schema]) =>
      `\n${comment(schema, '')}export type ${name} = ${bodyOf(schema, printing)};\n`,
  );
  return `${head}export interface Calls {\n${calls.join('')}}\n${types.join('')}`;
}
