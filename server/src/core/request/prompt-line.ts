/** The input of a job in one line, which lists show and the library searches in. */

/** At most 2,000 bytes of UTF-8, because an entry of an index may have 2,704. */
const charactersMax = 500;
/** More than enough to fill the line, unless most of the text is white space. */
const readMax = 8 * charactersMax;

/**
 * The prompt, or without one the short values of the other fields. White space becomes single
 * spaces, and a longer text ends with `…`. Empty if nothing can be said.
 */
export function promptLine(input: Record<string, unknown>): string {
  const { prompt } = input;
  const said = typeof prompt === 'string' ? oneLine(prompt) : '';
  return said === '' ? oneLine(otherFields(input)) : said;
}

function oneLine(text: string): string {
  const line = text.trimStart().slice(0, readMax).replaceAll(/\s+/g, ' ').trim().normalize('NFC');
  const characters = Array.from(line.slice(0, 2 * charactersMax + 2));
  if (characters.length <= charactersMax) return line;
  return `${characters.slice(0, charactersMax).join('').trimEnd()}…`;
}

/** Addresses and files are left out: they say nothing to a reader. */
function otherFields(input: Record<string, unknown>): string {
  return Object.entries(input)
    .filter(([name, value]) => isShort(value) && !/(?:^|_)(?:prompt|urls?)$/.test(name))
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(' · ');
}

function isShort(value: unknown): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return true;
  return typeof value === 'string' && value.trim() !== '' && !/^(?:https?|data):/i.test(value);
}
