import { bodyOf, comment, type PrintOptions } from './printed-types.ts';
import type { Schema } from '../../schemas/schema.ts';

/**
 * The types of the client library, from the schemas of the OpenAPI document. They describe what the
 * library returns: amounts are bigint.
 */

/** Types that have another name in the library. */
const renamed: Record<string, string> = {
  Status: 'StatusName',
  RequestStatus: 'Status',
  Notification: 'WebhookEvent',
  ModelOutput: 'Output',
  ChatRequest: 'ChatInput',
  ChatCompletion: 'Completion',
  Error: 'ErrorBody',
};

/** The fields that a status implies; OpenAPI 3.0 states this in ways that few generators read. */
const narrowed: Record<string, string> = {
  RequestStatus: ` & (
  | { status: 'IN_QUEUE' | 'IN_PROGRESS' }
  | { status: 'COMPLETED' | 'CANCELLED'; completed_at: string }
  | { status: 'FAILED'; completed_at: string; error: Failure }
)`,
};

/** Types that the library neither takes nor returns. */
const leftOut = new Set([
  'ModelInput',
  'EstimateRequest',
  'StreamEnd',
  'Health',
  'ModelList',
  'MessageRequest',
  'CountRequest',
  'TokenCount',
  'Message',
  'MessageBlock',
  'MessageUsage',
  'MessageEvent',
  'MessagesError',
]);

const printing: PrintOptions = { amount: 'bigint', nameOf: (name) => renamed[name] ?? name };

const head = '// Made by `npm run generate` from the schemas of openapi.json.\n';

export function clientTypes(schemas: ReadonlyMap<string, Schema>): string {
  const printed = [...clientTypeNames(schemas)].map(([name, ofClient]) => {
    const schema = schemas.get(name)!;
    return `${comment(schema, '')}export type ${ofClient} = ${bodyOf(schema, printing)}${narrowed[name] ?? ''};\n`;
  });
  return [head, ...printed].join('\n');
}

/** The client's types: the name of the schema → the name of the type. */
export function clientTypeNames(schemas: ReadonlyMap<string, Schema>): Map<string, string> {
  const named = [...schemas.keys()].filter((name) => !leftOut.has(name));
  return new Map(named.map((name) => [name, printing.nameOf(name)]));
}
