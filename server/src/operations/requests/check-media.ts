import type { ApiError } from '../../core/errors.ts';
import { fileId } from '../../core/request/id.ts';
import type { MediaInputs } from '../../core/catalog/media-input.ts';
import { ownOutput } from '../../core/request/own-link.ts';
import { verify } from '../../core/request/signature.ts';
import * as files from '../../db/accounts/files.ts';
import { judgeUrl } from '../../lib/outbound/address.ts';
import { allResolveToPublic, resolvesToPublic, type Lookup } from '../../lib/outbound/fetch.ts';
import type { Database } from '../../lib/sql/sql.ts';

export interface MediaDeps {
  db: Database;
  /** Base address of output links. */
  links: { baseUrl: string };
  /** Signing secrets that are honoured, newest first. */
  secrets: readonly Buffer[];
  lookup: Lookup;
  /** Host names of this service. */
  own: ReadonlySet<string>;
  /** Host:port pairs that count as public. */
  publicHosts: readonly string[];
}

/** Throws what `refuse` makes of the reason if the address is not public. */
export async function judgePublic(
  text: string,
  deps: MediaDeps,
  httpsOnly: boolean,
  refuse: (reason: string) => ApiError,
): Promise<void> {
  const host = hostToJudge(text, deps, httpsOnly, refuse);
  if (host === null) return;
  const where = await resolvesToPublic(host, deps.lookup, deps.own);
  if (where === 'not_public') throw refuse(notPublic);
}

const notPublic = 'is not acceptable: it must be a public address';

/** Null if the address is acceptable without a look-up. Throws what needs no look-up. */
function hostToJudge(
  text: string,
  deps: MediaDeps,
  httpsOnly: boolean,
  refuse: (reason: string) => ApiError,
): string | null {
  if (
    deps.publicHosts.length > 0 &&
    URL.canParse(text) &&
    deps.publicHosts.includes(new URL(text).host)
  )
    return null;
  const verdict = judgeUrl(text, { httpsOnly });
  if (!verdict.ok) throw refuse(`is not acceptable: ${verdict.reason}`);
  return verdict.url.hostname;
}

/** True for a signed link to an output of ours, which needs no look-up. Throws if it is invalid. */
function isOwnOutput(url: string, deps: MediaDeps, refuse: (reason: string) => ApiError): boolean {
  const own = ownOutput(url, deps.links.baseUrl);
  if (own === null) return false;
  const verdict = verify(deps.secrets, { ...own, now_seconds: Math.floor(Date.now() / 1000) });
  if (verdict === 'valid') return true;
  throw refuse(
    verdict === 'expired'
      ? 'is a link to an output whose time is over'
      : 'is no signed link to an output, as response_url gives it',
  );
}

/** Most host names in one input. */
const hostsMax = 8;
const tooManyHosts = `names one host more than the ${hostsMax} that an input may name`;

/** Every address must be public, and every file must be a living one of the account. */
export async function checkMedia(
  media: MediaInputs,
  accountId: string,
  deps: MediaDeps,
  refuse: (path: string, reason: string) => ApiError,
): Promise<void> {
  const hosts = media.urls.map(({ path, url }) => {
    const no = (reason: string) => refuse(path, reason);
    return isOwnOutput(url, deps, no) ? null : hostToJudge(url, deps, false, no);
  });
  const named = new Set<string>();
  hosts.forEach((host, i) => {
    if (host !== null && named.add(host).size > hostsMax)
      throw refuse(media.urls[i]!.path, tooManyHosts);
  });
  const where = await allResolveToPublic(named, deps.lookup, deps.own);
  hosts.forEach((host, i) => {
    if (host !== null && where.get(host) === 'not_public')
      throw refuse(media.urls[i]!.path, notPublic);
  });
  if (media.files.length === 0) return;
  const ids = media.files.map(({ id }) => id);
  const found = await files.findLiving(deps.db, accountId, ids);
  const missing = media.files.find(({ id }) => !found.some((file) => file.id === id));
  if (!missing) return;
  throw refuse(
    missing.path,
    `names ${fileId(missing.id)}, and there is no such file of this account (files are kept 7 days)`,
  );
}
