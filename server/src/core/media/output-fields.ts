import { kindOf, type MediaKind } from './content-type.ts';

/** Decides under which fields a generation's outputs stand, and which of them are what was sold. */

const kindField = /^(image|video|audio)s?$/;
/** Fields of what comes along with an output, or shows how it was made. */
const besideField =
  /(?:^|_)(?:masks?|previews?|thumb(?:nail)?s?|posters?|covers?|inputs?|sources?|init|origins?|originals?|references?|controls?|depth|edges?|pose|watermark(?:ed)?|first_frame|last_frame)(?:_|$)/;

/** A field's name in snake case. Some services write names in camel case. */
export function snakeCase(field: string): string {
  return field.replaceAll(/(?<=[a-z0-9])[A-Z]/g, '_$&').toLowerCase();
}

/** Whether a field is of what comes along. */
export function isSideOutput(field: string): boolean {
  return besideField.test(snakeCase(field));
}

/** 0 for a field that names a kind of media, 1 for any other name, 2 for what comes along. */
function rank(field: string | null): number {
  if (field === null || kindField.test(field)) return 0;
  return isSideOutput(field) ? 2 : 1;
}

/** The outputs under the most telling fields: `images`, not the masks and previews beside them. */
export function mainOutputs<T extends { field: string | null }>(outputs: readonly T[]): T[] {
  const best = Math.min(...outputs.map(({ field }) => rank(field)));
  return outputs.filter(({ field }) => rank(field) === best);
}

/** Each address once, under the most telling of its fields. */
export function eachOnce<T extends { field: string | null; source: object }>(media: T[]): T[] {
  const seen = new Map<string, number>();
  const kept: T[] = [];
  for (const each of media) {
    const url = 'url' in each.source ? String(each.source.url) : null;
    const at = url === null ? undefined : seen.get(url);
    if (at === undefined) {
      if (url !== null) seen.set(url, kept.length);
      kept.push(each);
    } else if (rank(each.field) < rank(kept[at]!.field)) kept[at] = each;
  }
  return kept;
}

/**
 * Names outputs by what they are: one without a name gets that of its kind, and so does a sold one
 * with the name of another kind. Images are a list by convention; outputs that share a singular
 * name get its plural.
 */
export function namedByKind<T extends { field: string | null; content_type: string }>(
  outputs: readonly T[],
  sold: readonly T[],
): (T & { field: string })[] {
  const named = outputs.map((output) => ({
    ...output,
    field: ownField(output, sold.includes(output)),
  }));
  const isShared = (name: string) => named.filter(({ field }) => field === name).length > 1;
  return named.map((output) => {
    const { field } = output;
    return field.endsWith('s') || !isShared(field) ? output : { ...output, field: `${field}s` };
  });
}

function ownField(
  { field, content_type }: { field: string | null; content_type: string },
  isSold: boolean,
): string {
  const kind: MediaKind = kindOf(content_type) ?? 'image';
  const isRight = !isSold || (kindField.exec(field ?? '')?.[1] ?? kind) === kind;
  if (field !== null && isRight) return field;
  return kind === 'image' ? 'images' : kind;
}
