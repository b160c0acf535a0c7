/**
 * Characters that no name, reference, reason, note or search may have: they are not seen, so they
 * let one text look like another, or change the direction of the text around them.
 */
export const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export const unseenWords = 'without characters that are not seen or that change its direction';
