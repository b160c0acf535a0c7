/**
 * Characters that no name, reference, reason, note or search may contain. They are invisible, so
 * they make one text look like another or change its direction.
 */
export const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export const unseenWords = 'without characters that are invisible or change its direction';
