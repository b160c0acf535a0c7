/** Guesses which of the known names a mistyped name stands for. */

const nameMax = 100;
/** Fewer letters would be the beginning of too many names. */
const beginningMin = 3;

/**
 * The known name that is most similar: in another style, cut off, or with a few wrong letters. Null
 * if none is similar.
 */
export function nearest(name: string, known: readonly string[]): string | null {
  if (name === '' || name.length > nameMax) return null;
  const wanted = plain(name);
  const wrongMax = Math.floor(wanted.length / 4);
  let best: { name: string; wrong: number } | null = null;
  for (const each of known) {
    const wrong = distance(wanted, plain(each), wrongMax);
    if (wrong <= wrongMax && (best === null || wrong < best.wrong)) best = { name: each, wrong };
  }
  if (best !== null) return best.name;
  if (wanted.length < beginningMin) return null;
  const begins = (long: string, short: string) => long !== short && long.startsWith(short);
  let part: string | null = null;
  for (const each of known) {
    const other = plain(each);
    const isPart = begins(other, wanted) || (begins(wanted, other) && other.length > 3);
    const isShorter = part === null || each.length < part.length;
    if ((isPart || other.endsWith(wanted)) && isShorter) part = each;
  }
  return part;
}

/** One letter of this many may be wrong in a typo. */
const lettersOfTypo = 6;

/**
 * The known name of which this one is a typo: in another style, or with one wrong letter, in a long
 * name with a few. Null if it is none.
 */
export function typoOf(name: string, known: readonly string[]): string | null {
  if (name === '' || name.length > nameMax) return null;
  const wanted = plain(name);
  const wrongMax = Math.max(1, Math.floor(wanted.length / lettersOfTypo));
  return known.find((each) => distance(wanted, plain(each), wrongMax) <= wrongMax) ?? null;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}/]/gu, '');
}

/** Number of letters to change, add, omit or swap with a neighbour; `most + 1` if above `most`. */
function distance(a: string, b: string, most: number): number {
  if (a === b) return 0;
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + same);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    before = above;
    above = row;
  }
  return above[b.length]!;
}
