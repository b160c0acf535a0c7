/** The gallery's search and filters, kept in its address. */

export const kinds = ['image', 'video', 'text'] as const;
export type Kind = (typeof kinds)[number];

export const sorts = ['suggested', 'price', 'name', 'newest'] as const;
export type Sort = (typeof sorts)[number];

export interface GalleryFilter {
  q?: string | undefined;
  kind?: Kind | undefined;
  task?: string | undefined;
  sort?: Sort | undefined;
}
