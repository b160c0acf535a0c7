import { Link, useParams, useSearch, type RegisteredRouter } from '@tanstack/react-router';

/**
 * Reads the query of a page. Fields that the page does not have are dropped from the address,
 * because they would filter nothing.
 */

type Rule<Value extends string = string> = (value: unknown) => Value | undefined;
export type AddressValues<Rules extends Record<string, Rule>> = {
  [Name in keyof Rules]?: ReturnType<Rules[Name]>;
};

/** Any text. The router parses `?q=5` as a number and `?q=true` as a boolean. */
export const anyText: Rule = (value) => {
  const isText = ['string', 'number', 'boolean'].includes(typeof value);
  return isText && value !== '' ? String(value) : undefined;
};

export function oneOf<const Value extends string>(offered: readonly Value[]): Rule<Value> {
  return (value) => offered.find((each) => each === anyText(value));
}

/** A text of this form. */
export function fits(form: RegExp): Rule {
  return (value) => {
    const text = anyText(value);
    return text !== undefined && form.test(text) ? text : undefined;
  };
}

/** Reads a query; the router then removes all other fields from the address. */
export function strictly<Search extends object>(read: (given: Record<string, unknown>) => Search) {
  return (given: Record<string, unknown>): Search => {
    const nothing = Object.fromEntries(Object.keys(given).map((name) => [name, undefined]));
    return { ...nothing, ...read(given) };
  };
}

export function byRules<Rules extends Record<string, Rule>>(rules: Rules) {
  return strictly((given) => {
    const read = Object.entries(rules).map(([name, rule]) => [name, rule(given[name])]);
    // Each field was read by its own rule.
    return Object.fromEntries(read) as AddressValues<Rules>;
  });
}

/** The query of this page, read by its route's reader. */
export function useQueryOf<Search>(read: (given: Record<string, unknown>) => Search): Search {
  return read(useSearch({ strict: false }));
}

/** A part of this page's path, by its name in the route; `_splat` is the rest. */
export function usePathPart(name: string): string {
  const parts: Record<string, string | undefined> = useParams({ strict: false });
  return parts[name] ?? '';
}

/** A link with a query, to pass as `component`, which takes no component with type parameters. */
export const QueryLink = Link<RegisteredRouter, string, string>;
