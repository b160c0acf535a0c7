import type { Schema, TSchema } from '../schemas/schema.ts';

/** Named schemas are written once and referred to elsewhere. */

/** Adds every named schema within this one. Throws if two different schemas have the same name. */
export function collectNamed(schema: Schema, named: Map<string, Schema>): void {
  const { title, properties, items, additionalProperties, anyOf } = schema;
  if (title !== undefined) {
    const plain = notNull(schema);
    const known = named.get(title);
    if (known && JSON.stringify(known) !== JSON.stringify(plain))
      throw new Error(`two schemas are named ${title}`);
    named.set(title, plain);
  }
  const inner = [properties && Object.values(properties), items, additionalProperties, anyOf];
  for (const each of inner.flat())
    if (typeof each === 'object' && each !== null) collectNamed(each, named);
}

/** The schema without the null that `nullable` added. */
function notNull({ nullable: _, enum: members, ...schema }: Schema): Schema {
  if (!members) return schema;
  return { ...schema, enum: members.filter((member) => member !== null) };
}

/**
 * The schema as the document has it: a reference if it has a name, otherwise the schema with
 * references to the named schemas within it.
 */
export function documentedSchema(schema: TSchema): Schema {
  const { title, nullable, description }: Schema = schema;
  if (title === undefined) return withReferences(schema);
  const reference = { $ref: `#/components/schemas/${title}` };
  if (nullable !== true) return reference;
  // Null stays out of the enumeration: with it, generators make code that does not compile.
  return { description, anyOf: [reference, { type: 'string', nullable: true, enum: [null] }] };
}

/** The schema itself, with references to the named schemas within it. */
export function withReferences(schema: Schema): Schema {
  const { title: _, rule: __, format, ...plain } = schema;
  const { properties, items, additionalProperties: more, anyOf } = plain;
  return {
    ...plain,
    ...(format !== undefined && !ownFormats.has(format) && { format }),
    ...(properties !== undefined && { properties: documentedFields(properties) }),
    ...(items !== undefined && { items: documentedSchema(items) }),
    ...(typeof more === 'object' && { additionalProperties: documentedSchema(more) }),
    ...(anyOf && { anyOf: anyOf.map(documentedSchema) }),
  };
}

/** Formats that only `validate.ts` knows. */
const ownFormats = new Set<unknown>(['cursor', 'micro_usd', 'moment']);

function documentedFields(fields: Record<string, Schema>): Record<string, Schema> {
  const entries = Object.entries(fields).map(
    ([name, field]) => [name, documentedSchema(field)] as const,
  );
  return Object.fromEntries(entries);
}
