/** An address of these pages: what leads elsewhere, or nowhere, becomes where they begin. */
export function ownPath(to: string | undefined): string {
  const home = '/';
  if (to === undefined || !URL.canParse(to, location.origin)) return home;
  // As the browser reads it: //host, /\host and https:host are other sites, and so is /a/..//host
  // once it is tidied up.
  const { origin, pathname, search, hash } = new URL(to, location.origin);
  const isOwn = origin === location.origin && to.startsWith('/') && !pathname.startsWith('//');
  return isOwn ? pathname + search + hash : home;
}
