/** Cached lists that are updated live have a key of their own, which holds their search. */

export function liveKey(account_id: string, search: object) {
  return ['account', account_id, 'GET /requests', 'live', search];
}

/** The search as in the address, which changes are matched against; null for any other key. */
export function liveSearch([, , route, kind, search]: readonly unknown[]) {
  return route === 'GET /requests' && kind === 'live' ? (search as Record<string, unknown>) : null;
}
