/** Prepares texts of upstreams for the log: short, and without the caller's input. */

const textMax = 300;
/** This many successive characters that also occur in the input count as copied from it. */
const windowLength = 12;
/** A shorter text of the input, such as a size or a name, does not reveal anything. */
const textMin = 4;
/** Only the beginning of an input is searched for, because more would take too long. */
const inputMax = 100_000;

/** At most 300 characters; parts that also occur in `input` become "…". */
export function redactInput(text: string, input: unknown): string {
  const asked: string[] = [];
  collect(input, asked);
  let shown = text.slice(0, 2 * textMax);
  for (const each of asked) {
    if (each.length >= textMin && each.length < windowLength) shown = shown.replaceAll(each, '…');
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
