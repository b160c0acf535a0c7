import { anyText, byRules, fits, oneOf, type AddressValues } from '../address.ts';
import { dayOf } from '../dashboard/money/money-search.ts';
import { kinds, sorts } from './form/gallery-filter.ts';

/** How each page of the studio reads its query. */

export const gallerySearch = byRules({
  q: anyText,
  kind: oneOf(kinds),
  task: anyText,
  sort: oneOf(sorts),
});

export const chatSearch = byRules({ c: anyText, model: anyText });

/** The tabs of a model's page beside the first. */
export const modelTabs = ['code', 'about'] as const;
export type ModelTab = (typeof modelTabs)[number];

export const modelSearch = byRules({ from: anyText, use: anyText, tab: oneOf(modelTabs) });

/** `models`: ids with commas between them; `runs`: the request of each, where there is one. */
export const compareSearch = byRules({ models: anyText, runs: anyText });

/** Parts of the library. */
export const parts = ['image', 'video', 'favorites'] as const;
const libraryRules = {
  q: (value: unknown) => anyText(value)?.slice(0, 200),
  show: oneOf(parts),
  model: fits(/^.{1,300}$/),
  day: dayOf,
};
export type LibrarySearch = AddressValues<typeof libraryRules>;
export const librarySearch = byRules(libraryRules);
