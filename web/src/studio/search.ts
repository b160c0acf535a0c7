import { anyText, byRules, oneOf } from '../address.ts';
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
