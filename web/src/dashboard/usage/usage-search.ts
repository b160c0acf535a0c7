import { byRules, fits, oneOf } from '../../address.ts';

/** The query of the page of usage. */

export const groups = ['model', 'key', 'person', 'day', 'metadata'] as const;
export const periods = ['7', '30'] as const;

export const usageSearch = byRules({
  by: oneOf(groups),
  days: oneOf(periods),
  /** The name of the metadata, if it groups by that. */
  name: fits(/^[^,=]{1,64}$/),
});
