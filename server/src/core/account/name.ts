/**
 * Characters that a name of a person, an account or a key must not have: they are not seen, and let
 * one name look like another, or turn the text around it.
 */
export const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export const unseenWords = 'without characters that are not seen or that change its direction';
