import { previous } from '../queries.ts';

/** How often changing data is loaded again; only while the tab is visible. */
export const liveMs = 5_000;

/** Options for a reply that changes without any action here. */
export const liveQuery = { ...previous, refetchInterval: liveMs };
