/** A path within these pages; anything else becomes the start page. */
export function ownPath(to: string | undefined): string {
  const home = '/';
  if (to === undefined || !URL.canParse(to, location.origin)) return home;
  // Parsed as the browser does: //host, /\host and https:host are other sites, and so is
  // /a/..//host once normalised.
  const { origin, pathname, search, hash } = new URL(to, location.origin);
  const isOwn = origin === location.origin && to.startsWith('/') && !pathname.startsWith('//');
  // Saved addresses of the sign-in page may contain the dashboard's former path.
  const path = pathname.replace(/^\/cabinet(?=\/|$)/, '/dashboard');
  return isOwn ? path + search + hash : home;
}
