/** The kinds of models, in the order of filters. */
export const kinds = ['image', 'video', 'text'] as const;
export type Kind = (typeof kinds)[number];
