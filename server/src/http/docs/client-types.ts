import type { Schema } from './schema.ts';

/**
 * The types of the client library, out of the schemas that the OpenAPI document is made of. They
 * describe what the library hands out: amounts have become bigint there.
 */

/** Where the library says it in another word. */
const renamed: Record<string, string> = {
  Status: 'StatusName',
  RequestStatus: 'Status',
  Notification: 'WebhookEvent',
  ModelOutput: 'Output',
  ChatRequest: 'ChatInput',
  ChatCompletion: 'Completion',
  Error: 'ErrorBody',
};

/** What a status says of the other fields; OpenAPI 3.0 says it in ways that few generators read. */
const narrowed: Record<string, string> = {
  RequestStatus: ` & (
  | { status: 'IN_QUEUE' | 'IN_PROGRESS' }
  | { status: 'COMPLETED' | 'CANCELLED'; completed_at: string }
  | { status: 'FAILED'; completed_at: string; error: Failure }
)`,
};

/** Neither called nor handed out by the library. */
const leftOut = new Set([
  'ModelInput',
  'EstimateRequest',
  'StreamEnd',
  'Cancelled',
  'Health',
  'ModelList',
]);

const head = '// Made by `npm run generate` from the schemas of openapi.json.\n';

export function clientTypes(schemas: Record<string, Schema>): string {
  const named = Object.entries(schemas).filter(([name]) => !leftOut.has(name));
  const printed = named.map(
    ([name, schema]) =>
      `${comment(schema, '')}export type ${typeName(name)} = ${typeOf(schema, '')}${narrowed[name] ?? ''};\n`,
  );
  return [head, ...printed].join('\n');
}

function typeName(name: string): string {
  return renamed[name] ?? name;
}

function typeOf(schema: Schema, indent: string): string {
  const type = bareType(schema, indent);
  return schema.nullable === true && !/\bnull$/.test(type) ? `${type} | null` : type;
}

function bareType(schema: Schema, indent: string): string {
  const { $ref, enum: members, anyOf, type, items } = schema;
  if (typeof $ref === 'string') return typeName($ref.split('/').at(-1)!);
  if (Array.isArray(members)) return members.map(literal).join(' | ');
  if (Array.isArray(anyOf)) {
    const types = (anyOf as Schema[]).map((each) => typeOf(each, indent));
    return types
      .sort((a, b) => Number(a.endsWith('null')) - Number(b.endsWith('null')))
      .join(' | ');
  }
  if (type === 'array') return `Array<${typeOf(items as Schema, indent)}>`;
  if (type === 'object') return objectType(schema, indent);
  if (type === 'integer') return 'number';
  if (type === 'string' && isAmount(schema)) return 'bigint';
  return String(type ?? 'unknown');
}

function literal(member: unknown): string {
  return typeof member === 'string' ? `'${member}'` : String(member);
}

function isAmount({ pattern, example }: Schema): boolean {
  return pattern === '^(0|[1-9][0-9]*)$' && example === '39000';
}

function objectType(schema: Schema, indent: string): string {
  const { properties = {}, required = [], additionalProperties: more } = schema;
  const fields = Object.entries(properties as Record<string, Schema>);
  const rest = more === true ? 'unknown' : more ? typeOf(more as Schema, indent) : null;
  if (fields.length === 0) return `Record<string, ${rest ?? 'unknown'}>`;
  const inner = `${indent}  `;
  const lines = fields.map(([name, field]) => {
    const optional = (required as string[]).includes(name) ? '' : '?';
    return `${comment(field, inner)}${inner}${name}${optional}: ${typeOf(field, inner)};\n`;
  });
  if (rest !== null) lines.push(`${inner}[field: string]: ${rest};\n`);
  return `{\n${lines.join('')}${indent}}`;
}

function comment({ description }: Schema, indent: string): string {
  return typeof description === 'string' ? `${indent}/** ${description} */\n` : '';
}
