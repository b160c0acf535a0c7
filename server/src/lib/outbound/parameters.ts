/**
 * Parameters after the `?` of an address in a setting, by name. Values: those that are allowed, or
 * the form of them, or null for any.
 */
export type Parameters = Readonly<Record<string, readonly string[] | RegExp | null>>;

/**
 * Says which parameter has no effect or an impossible value, as the end of a sentence about the
 * address; null: none. Values are not repeated, because they may be secrets.
 */
export function faultOfParameters(given: URLSearchParams, known: Parameters): string | null {
  for (const [name, value] of given) {
    if (!Object.hasOwn(known, name))
      return `takes no parameter "${name}", only ${Object.keys(known).join(', ')}`;
    const values = known[name]!;
    if (values instanceof RegExp && !values.test(value)) return `has an invalid ${name}`;
    if (Array.isArray(values) && !values.includes(value))
      return `must have one of ${values.join(', ')} as ${name}`;
  }
  return null;
}
