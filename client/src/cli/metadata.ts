import { usage } from './exits.ts';

/** The pairs of repeated `--metadata name=value`; undefined if there are none. */
export function readPairs(given: string[] | undefined): Record<string, string> | undefined {
  const pairs = given?.map((pair) => {
    const at = pair.indexOf('=');
    if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)] as const;
    throw usage(`${JSON.stringify(pair)} is not metadata.`, 'It looks like name=value.');
  });
  const names = pairs?.map(([name]) => name);
  const twice = names?.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) throw usage(`The metadata ${twice} is given twice.`);
  return pairs && Object.fromEntries(pairs);
}
