/** Texts of upstreams for the log: short, and without what the caller asked for. */

const textMax = 300;
/** So much in a row is no accident: an upstream has repeated the input. */
const windowLength = 12;
/** A shorter text of the input, such as a size or a name, tells nobody anything. */
const wholeMin = 4;
/** The beginning of an input that is looked for; more would take too long. */
const inputMax = 100_000;

/** At most 300 characters, in which what stands in `input` too is "…". */
export function withoutInput(text: string, input: unknown): string {
  const asked: string[] = [];
  collect(input, asked);
  let shown = text.slice(0, 2 * textMax);
  for (const each of asked) {
    if (each.length >= wholeMin && each.length < windowLength) shown = shown.replaceAll(each, '…');
  }
  return cut(shown, asked.join('\n').slice(0, inputMax)).slice(0, textMax);
}

function cut(text: string, asked: string): string {
  let shown = '';
  for (let at = 0; at < text.length;) {
    let end = at + windowLength;
    if (end > text.length || !asked.includes(text.slice(at, end))) {
      shown += text[at++];
      continue;
    }
    while (end < text.length && asked.includes(text.slice(end - windowLength + 1, end + 1))) end++;
    shown += '…';
    at = end;
  }
  return shown;
}

function collect(value: unknown, into: string[]): void {
  if (typeof value === 'string') into.push(value);
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) collect(each, into);
}
