import { digitsOf, isLong } from '../../lib/long-integers.ts';
import { fieldOf } from '../../lib/unknown.ts';

/**
 * Fills the operator's templates of bodies, headers and addresses with the values of one call. In a
 * body, a text that is exactly `$name` becomes the value, of any type; in an address, `{name}`
 * becomes the value as text.
 */

export type Values = Readonly<Record<string, unknown>>;

/** The name of the entry whose value's fields are spread into the object around it. */
const spread = '...';

/**
 * The template with its values filled in; fields whose value is null are left out. The operator's
 * fields win over spread ones even when left out, so that a caller's input cannot replace them.
 */
export function fill(template: unknown, values: Values): unknown {
  if (typeof template === 'string') {
    return template.startsWith('$') ? values[template.slice(1)] : template;
  }
  if (typeof template !== 'object' || template === null || isLong(template)) return template;
  if (Array.isArray(template)) {
    return template.map((item) => fill(item, values)).filter(isThere);
  }
  const own = Object.entries(template).filter(([name]) => name !== spread);
  const names = new Set(own.map(([name]) => name));
  const rest = fill(fieldOf(template, spread) ?? null, values);
  const filled = own.map(([name, item]) => [name, fill(item, values)] as const);
  return Object.fromEntries([
    ...Object.entries(rest ?? {}).filter(([name]) => !names.has(name)),
    ...filled.filter(([, item]) => isThere(item)),
  ]);
}

/** Fills headers or a query, whose values are all texts. */
export function fillTexts(
  template: Readonly<Record<string, string>> | undefined,
  values: Values,
): Record<string, string> {
  const filled = Object.entries(template ?? {}).map(([name, text]) => [name, fill(text, values)]);
  const texts = filled.filter(([, text]) => isThere(text));
  return Object.fromEntries(texts.map(([name, text]) => [name, String(digitsOf(text))]));
}

/**
 * Fills a path. Slashes are kept in `{model}`, because models are named by paths; elsewhere they
 * are escaped. Throws if a part of a value is empty, `.` or `..`.
 */
export function fillPath(template: string, values: Values): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const text = String(digitsOf(values[name]) ?? '');
    const parts = name === 'model' ? text.split('/') : [text];
    if (parts.some((part) => /^\.{0,2}$/.test(part)))
      throw new Error(`${name} cannot be used in a path`);
    return parts.map(encodeURIComponent).join('/');
  });
}

export function namesIn(template: unknown): string[] {
  if (typeof template === 'string') {
    const inPath = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    return template.startsWith('$') ? [template.slice(1)] : inPath;
  }
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template).flatMap(namesIn);
}

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined;
}
