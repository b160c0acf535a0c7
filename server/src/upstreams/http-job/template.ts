import { fieldOf } from '../../lib/unknown.ts';

/**
 * Bodies, headers and addresses as the operator wrote them, filled with the values of one call. In
 * a body, a text that is exactly `$name` is replaced by the value, of any type; in an address,
 * `{name}` is replaced by its text.
 */

export type Values = Readonly<Record<string, unknown>>;

/** The entry of an object whose value is spread into it. */
const spread = '...';

/**
 * A null value is left out together with its field. The operator's own fields win over spread ones
 * even when they are left out: a caller's input must not replace them.
 */
export function fill(template: unknown, values: Values): unknown {
  if (typeof template === 'string') {
    return template.startsWith('$') ? values[template.slice(1)] : template;
  }
  if (typeof template !== 'object' || template === null) return template;
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

/** Headers or a query: texts only. */
export function fillTexts(
  template: Readonly<Record<string, string>> | undefined,
  values: Values,
): Record<string, string> {
  const filled = Object.entries(template ?? {}).map(([name, text]) => [name, fill(text, values)]);
  const texts = filled.filter(([, text]) => isThere(text));
  return Object.fromEntries(texts.map(([name, text]) => [name, String(text)]));
}

/**
 * `{model}` keeps its slashes, because models are named by paths; in other values they are escaped.
 */
export function fillPath(template: string, values: Values): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const text = String(values[name] ?? '');
    const parts = name === 'model' ? text.split('/') : [text];
    if (parts.some((part) => /^\.{0,2}$/.test(part)))
      throw new Error(`${name} is no part of a path`);
    return parts.map(encodeURIComponent).join('/');
  });
}

/** All names that a template uses. */
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
