/**
 * Characters that are not allowed in names, references, reasons, notes and searches. They are
 * invisible, and can make two texts look alike or change the direction of the text. Variants of a
 * sign, which emoji have, are allowed.
 */
export const unseen =
  /(?![\uFE00-\uFE0F])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\uFFFC\u{1D159}]/u;

const unseenWords =
  'without invisible characters or characters that change the direction of writing';

/** Longest name of a person, an account or a key. */
export const nameMax = 100;

/**
 * A text of a caller on one line, without the spaces around it; null if it breaks `lineRule`. It
 * counts code points, as schemas and PostgreSQL do.
 */
export function lineOf(given: string, max: number): string | null {
  const text = given.trim();
  return text !== '' && [...text].length <= max && !unseen.test(text) ? text : null;
}

/** The rule for a text of a caller, in words. */
export function lineRule(max: number): string {
  return `1 to ${max} characters on one line, ${unseenWords}`;
}

/** Like `lineOf` for a text of several lines, which may be empty; null if it breaks `linesRule`. */
export function linesOf(given: string, max: number): string | null {
  const text = given.trim().replaceAll('\r\n', '\n');
  return [...text].length <= max && !unseen.test(text.replaceAll('\n', '')) ? text : null;
}

export function linesRule(max: number): string {
  return `plain text of at most ${max} characters, ${unseenWords}`;
}
