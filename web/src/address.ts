/** What a page keeps in its address: only what it offers, so that nobody looks for what is not. */

type Rule<Value extends string = string> = (value: unknown) => Value | undefined;
/** What is read by rules. */
export type Read<Rules extends Record<string, Rule>> = {
  [Name in keyof Rules]?: ReturnType<Rules[Name]>;
};

/** Any text; the router reads `?q=5` as a number and `?q=true` as a boolean. */
export const anyText: Rule = (value) => {
  const isText = ['string', 'number', 'boolean'].includes(typeof value);
  return isText && value !== '' ? String(value) : undefined;
};

export function oneOf<const Value extends string>(offered: readonly Value[]): Rule<Value> {
  return (value) => offered.find((each) => each === anyText(value));
}

/** Reads an address; the router then takes out of it what was not read. */
export function strictly<Search extends object>(read: (given: Record<string, unknown>) => Search) {
  return (given: Record<string, unknown>): Search => {
    const nothing = Object.fromEntries(Object.keys(given).map((name) => [name, undefined]));
    return { ...nothing, ...read(given) };
  };
}

export function byRules<Rules extends Record<string, Rule>>(rules: Rules) {
  return strictly((given) => {
    const read = Object.entries(rules).map(([name, rule]) => [name, rule(given[name])]);
    return Object.fromEntries(read) as Read<Rules>;
  });
}
