import { kindOf, typeName, typesNamed } from './content-type.ts';

/** Decides whether a row takes a caller's file, or takes it in another type. */

/** Content types that a row takes; null: its row lists none, so all but the unusual ones. */
export type InputTypes = readonly string[] | null;

/** Few services read these. */
const unusual = new Set(['image/tiff', 'image/bmp', 'image/heic']);
/** Types of images that the service can decode. */
export const decodable = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/gif',
  'image/avif',
  'image/tiff',
]);
/** In a refusal for a row that lists no types. */
const usual = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif'];

/** The content types of a row's names, such as `jpeg` or `webm`. */
export function inputTypes(names: readonly string[]): string[] {
  return names.flatMap(typesNamed);
}

export function takesType(types: InputTypes, content_type: string): boolean {
  return types === null ? !unusual.has(content_type) : types.includes(content_type);
}

/** The type in which the row takes such a picture; null if it cannot be converted. */
export function convertedType(
  types: InputTypes,
  content_type: string,
): 'image/png' | 'image/jpeg' | null {
  if (!decodable.has(content_type)) return null;
  if (takesType(types, 'image/png')) return 'image/png';
  return takesType(types, 'image/jpeg') ? 'image/jpeg' : null;
}

/** The rule that a file of a type that is not taken breaks, for error messages. */
export function typeRule(types: InputTypes, content_type: string): string {
  const taken = types ?? usual;
  const ofKind = taken.filter((each) => kindOf(each) === kindOf(content_type));
  const names = new Set((ofKind.length > 0 ? ofKind : taken).map(typeName));
  const rule = `is ${typeName(content_type)}; this model takes ${[...names].join(', ')}`;
  const isStrange = kindOf(content_type) === 'image' && !decodable.has(content_type);
  return isStrange ? `${rule}, and ${typeName(content_type)} cannot be converted here` : rule;
}

/** Whether a row's file can be handed over, as it is or converted. */
export function canTake(types: InputTypes, content_type: string): boolean {
  return takesType(types, content_type) || convertedType(types, content_type) !== null;
}
