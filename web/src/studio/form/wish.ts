/** What somebody may look for among the models; it stands in the gallery's address. */

export const kinds = ['image', 'video', 'text'] as const;
export type Kind = (typeof kinds)[number];

export const sorts = ['suggested', 'price', 'name', 'newest'] as const;
export type Sort = (typeof sorts)[number];

export interface Wish {
  q?: string | undefined;
  kind?: Kind | undefined;
  task?: string | undefined;
  sort?: Sort | undefined;
}
