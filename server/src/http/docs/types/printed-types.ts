import { microUsdPattern } from '../../../core/price/money.ts';
import * as s from '../../schemas/schema.ts';

/** TypeScript types, printed from JSON Schemas. */

export interface PrintOptions {
  /** The type that readers get for an amount. */
  amount: 'bigint' | 'string';
  /** The name of the type that is printed for a named schema. */
  nameOf: (name: string) => string;
}

/** The type of a schema; if the schema has a name, only the name. */
export function typeOf(schema: s.Schema, printing: PrintOptions, indent = ''): string {
  const type = namedType(schema, printing) ?? bodyOf(schema, printing, indent);
  return schema.nullable === true && !/\bnull$/.test(type) ? `${type} | null` : type;
}

/** The type itself, even if the schema has a name. */
export function bodyOf(schema: s.Schema, printing: PrintOptions, indent = ''): string {
  const { enum: members, anyOf, type, items } = schema;
  if (members) return members.map(literal).join(' | ');
  if (anyOf) {
    const types = anyOf.map((each) => typeOf(each, printing, indent));
    return types
      .sort((a, b) => Number(a.endsWith('null')) - Number(b.endsWith('null')))
      .join(' | ');
  }
  if (type === 'array') return `Array<${typeOf(items ?? {}, printing, indent)}>`;
  if (type === 'object') return objectType(schema, printing, indent);
  if (type === 'integer') return 'number';
  if (type === 'string' && isAmount(schema)) return printing.amount;
  return type ?? 'unknown';
}

/** A doc comment with the description, or nothing. */
export function comment({ description }: s.Schema, indent: string): string {
  return description !== undefined ? `${indent}/** ${description} */\n` : '';
}

function namedType({ $ref, title }: s.Schema, { nameOf }: PrintOptions): string | null {
  if ($ref !== undefined) return nameOf($ref.split('/').at(-1)!);
  return title === undefined ? null : nameOf(title);
}

function literal(member: unknown): string {
  return typeof member === 'string' ? `'${member}'` : String(member);
}

function isAmount({ pattern }: s.Schema): boolean {
  return pattern === microUsdPattern || pattern === s.signedMicroUsdPattern;
}

function objectType(schema: s.Schema, printing: PrintOptions, indent: string): string {
  const { properties = {}, required = [], additionalProperties: more } = schema;
  const fields = Object.entries(properties);
  const rest = more === true ? 'unknown' : more ? typeOf(more, printing, indent) : null;
  if (fields.length === 0) return `Record<string, ${rest ?? 'unknown'}>`;
  const inner = `${indent}  `;
  const lines = fields.map(([name, field]) => {
    const isGiven = required.includes(name) && field.default === undefined;
    const type = typeOf(field, printing, inner);
    const line = `${name}${isGiven ? '' : '?'}: ${type};`;
    const said = comment(field, inner);
    return said === '' ? line : `${said.trimStart()}${inner}${line}`;
  });
  if (rest !== null) lines.push(`[field: string]: ${rest};`);
  return oneLine(lines, indent);
}

/** Longest object type on one line, without its name. */
const lineMax = 60;

/** An object type with these fields; on one line if it is short. */
export function oneLine(fields: string[], indent: string): string {
  const short = `{ ${fields.join(' ').replace(/;$/, '')} }`;
  if (short.length <= lineMax && !short.includes('\n')) return short;
  return `{\n${fields.map((field) => `${indent}  ${field}\n`).join('')}${indent}}`;
}
