import type { TSchema } from '../schema.ts';
import type { Schema } from './route-docs.ts';

/** Schemas that have a name are written once, and referred to elsewhere. */

/** Adds every named schema within this one. Throws if two of one name differ. */
export function collectNamed(schema: TSchema, named: Map<string, Schema>): void {
  const { title, properties, items, additionalProperties, anyOf } = schema as Schema;
  if (typeof title === 'string') {
    const plain = notNull(schema as Schema);
    const known = named.get(title);
    if (known && JSON.stringify(known) !== JSON.stringify(plain))
      throw new Error(`two schemas are named ${title}`);
    named.set(title, plain);
  }
  const inner = [properties && Object.values(properties), items, additionalProperties, anyOf];
  for (const each of inner.flat())
    if (typeof each === 'object' && each !== null) collectNamed(each, named);
}

/** The schema before `nullable` copied it. */
function notNull({ nullable: _, enum: members, ...schema }: Schema): Schema {
  if (!members) return schema;
  return { ...schema, enum: (members as unknown[]).filter((member) => member !== null) };
}

/** The schema as it is in the document, with references to the named ones within it. */
export function documented(schema: TSchema): Schema {
  const { title, nullable, description } = schema as Schema;
  if (typeof title !== 'string') return withReferences(schema);
  const reference = { $ref: `#/components/schemas/${title}` };
  if (nullable !== true) return reference;
  // Null stays out of the enumeration: generators make code of the two that does not compile.
  return { description, anyOf: [reference, { type: 'string', nullable: true, enum: [null] }] };
}

/** A named schema itself. */
export function withReferences(schema: TSchema): Schema {
  const { title: _, rule: __, format, ...plain } = schema as Schema;
  const { properties, items, additionalProperties: more, anyOf } = plain;
  return {
    ...plain,
    ...(format !== undefined && !ownFormats.has(format) && { format }),
    ...(properties !== undefined && { properties: documentedFields(properties as Fields) }),
    ...(items !== undefined && { items: documented(items as TSchema) }),
    ...(typeof more === 'object' && { additionalProperties: documented(more as TSchema) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(documented) }),
  };
}

/** Known to `validate.ts` only. */
const ownFormats = new Set<unknown>(['cursor', 'moment']);

type Fields = Record<string, TSchema>;

function documentedFields(fields: Fields): Record<string, Schema> {
  const entries = Object.entries(fields).map(([name, field]) => [name, documented(field)]);
  return Object.fromEntries(entries) as Record<string, Schema>;
}
