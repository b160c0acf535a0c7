import { previous } from '../queries.ts';

/** How often live data is loaded again, only while the tab is visible. */
export const liveMs = 5_000;

/** For a reply that changes by itself. */
export const live = { ...previous, refetchInterval: liveMs };
