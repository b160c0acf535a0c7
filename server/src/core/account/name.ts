/**
 * Characters that are not allowed in names, references, reasons, notes and searches. They are
 * invisible, and can make two texts look alike or change the direction of the text.
 */
export const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export const unseenWords =
  'without invisible characters or characters that change the direction of writing';
