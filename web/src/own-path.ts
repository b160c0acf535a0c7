/** An address of these pages: what leads elsewhere, or nowhere, becomes the cabinet. */
export function ownPath(to: string | undefined): string {
  const home = '/cabinet';
  if (to === undefined || !URL.canParse(to, location.origin)) return home;
  // As the browser reads it: //host, /\host and https:host are other sites.
  const { origin, pathname, search, hash } = new URL(to, location.origin);
  return origin === location.origin && to.startsWith('/') ? pathname + search + hash : home;
}
