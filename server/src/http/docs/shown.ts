import type { ApiRoute } from '../routes.ts';
import type { Schema, TSchema } from '../schemas/schema.ts';
import type { ProseByCall } from './prose.ts';
import type { Examples } from './route-docs.ts';

/** By name of a schema: an example that docs/api/ shows for some reply. */
export type ShownExamples = Map<string, unknown>;

/** So an object that several calls reply needs one example only. */
export function shownExamples(
  table: ApiRoute[],
  calls: ProseByCall,
  callOf: (route: ApiRoute) => string,
): ShownExamples {
  const shown: ShownExamples = new Map();
  for (const route of table) {
    const { title, properties = {} }: Schema = replyOf(route) ?? {};
    const { request: _, event: __, ...replies } = calls.get(callOf(route))?.examples ?? {};
    for (const { value } of Object.values(replies).flatMap((each) => Object.values(each))) {
      if (title !== undefined && !shown.has(title)) shown.set(title, value);
      const entry = properties.data?.items?.title;
      const [first] = (value as { data?: unknown[] }).data ?? [];
      if (entry !== undefined && first !== undefined && !shown.has(entry)) shown.set(entry, first);
    }
  }
  return shown;
}

/** The schema of a route's JSON reply. */
export function replyOf({ docs, shapes }: Pick<ApiRoute, 'docs' | 'shapes'>): TSchema | undefined {
  const own = Object.values(docs.replies ?? {}).find(({ schema }) => schema)?.schema;
  return own ?? shapes.reply ?? shapes.written;
}

/** An example that some other call shows: of this object, or of a page of these objects. */
export function borrowedExample(schema: TSchema, shown: ShownExamples): Examples | undefined {
  const { title, properties = {} }: Schema = schema;
  if (title !== undefined && shown.has(title)) return { example: { value: shown.get(title) } };
  const entry = properties.data?.items?.title;
  if (entry === undefined || !shown.has(entry) || !properties.next_cursor) return undefined;
  return { example: { value: { data: [shown.get(entry)], next_cursor: null } } };
}
