import { ApiError } from '../../core/errors.ts';
import type { ReasonDetails } from '../../core/reasons.ts';
import { fileId } from '../../core/request/file-id.ts';
import type { MediaInputs } from '../../core/catalog/media-input.ts';
import { ownFile, ownFiles, ownOutput } from '../../core/request/own-link.ts';
import { verify } from '../../core/request/signature.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as files from '../../db/accounts/files.ts';
import { judgeUrl, loopbackHosts } from '../../lib/outbound/address.ts';
import { allResolveToPublic, resolvesToPublic, type Lookup } from '../../lib/outbound/fetch.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { webhookFetch, type WebhookFetches } from './webhook-fetch.ts';

export interface MediaDeps {
  db: Database;
  /** Base address of output links. */
  links: { baseUrl: string };
  /** Signing secrets that are accepted, newest first. */
  secrets: readonly Buffer[];
  lookup: Lookup;
  /** Host names of this service. */
  own: ReadonlySet<string>;
  /** Host:port pairs that are treated as public. */
  publicHosts: readonly string[];
}

export interface WebhookDeps extends MediaDeps {
  fetches: WebhookFetches;
  settings: { FAREBOX_WEBHOOK_HTTPS_ONLY: boolean };
}

/** Throws `bad_webhook_url` if this account's webhooks may not go to the address. */
export async function demandWebhookUrl(
  text: string,
  param: string,
  accountId: string,
  deps: WebhookDeps,
): Promise<void> {
  if (await mayBeLocal(text, accountId, deps)) return;
  const refuse = (rule: string) => badWebhook(param, rule, deps);
  const host = hostToJudge(text, deps, deps.settings.FAREBOX_WEBHOOK_HTTPS_ONLY, refuse);
  if (host === null) return;
  const where = await resolvesToPublic(host, deps.lookup, deps.own);
  if (where === 'not_public') throw refuse(notPublic);
}

/** Whether the address is on this machine, and the account is the trial's demo account. */
async function mayBeLocal(text: string, accountId: string, deps: WebhookDeps): Promise<boolean> {
  const { db, fetches } = deps;
  if (fetches.localWebhooks === null) return false;
  const isLocal = ({ hostname }: URL) => loopbackHosts.includes(hostname);
  const { FAREBOX_WEBHOOK_HTTPS_ONLY: httpsOnly } = deps.settings;
  const verdict = judgeUrl(text, { httpsOnly, exempt: isLocal });
  if (!verdict.ok || !isLocal(verdict.url)) return false;
  const account = await accounts.find(db, accountId);
  return account !== null && webhookFetch(account, fetches) === fetches.localWebhooks;
}

export function badWebhook(param: string, rule: string, { settings }: WebhookDeps): ApiError {
  const schemes = settings.FAREBOX_WEBHOOK_HTTPS_ONLY ? ['https'] : ['http', 'https'];
  const message = `${param} ${rule}.`;
  return new ApiError('bad_webhook_url', { message, param, details: { schemes } });
}

const notPublic = 'is not acceptable: it must be a public address';

/**
 * The host name to look up; null if the address is acceptable without that. Throws if the address
 * is invalid as written.
 */
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

/**
 * True for a signed link to one of our outputs, which needs no look-up. Throws if the signature is
 * invalid or has expired.
 */
function isOwnOutput(url: string, deps: MediaDeps, refuse: (reason: string) => ApiError): boolean {
  const own = ownOutput(url, deps.links.baseUrl);
  if (own === null) return false;
  const verdict = verify(deps.secrets, { ...own, now_seconds: Math.floor(Date.now() / 1000) });
  // guard: input-link-signed (off: true)
  if (verdict === 'valid') return true;
  throw refuse(
    verdict === 'expired'
      ? 'is a link to an output that has expired'
      : 'is not a signed link to an output, as response_url returns it',
  );
}

/** Maximum number of host names in one input. */
const hostsMax = 8;
const tooManyHosts = `is on another host, but the addresses of one input may be on at most ${hostsMax} hosts; upload some of the files instead`;

/**
 * Throws unless every address is public and every file exists and belongs to the account. Returns
 * the types of the files, each with the path of its field.
 */
export async function requireMedia(
  media: MediaInputs,
  accountId: string,
  deps: MediaDeps,
  refuse: (path: string, rule: string, why: ReasonDetails) => ApiError,
): Promise<{ path: string; content_type: string }[]> {
  const closed = { reason: 'address_not_public' } as const;
  const hosts = media.urls.map(({ path, url }) => {
    const gone = (rule: string) => refuse(path, rule, { reason: 'output_link_invalid' });
    if (ownFile(url, deps.links.baseUrl) !== null || isOwnOutput(url, deps, gone)) return null;
    return hostToJudge(url, deps, false, (rule) => refuse(path, rule, closed));
  });
  const named = new Set<string>();
  hosts.forEach((host, i) => {
    if (host !== null && named.add(host).size > hostsMax)
      throw refuse(media.urls[i]!.path, tooManyHosts, {
        reason: 'hosts_too_many',
        limit: hostsMax,
      });
  });
  const where = await allResolveToPublic(named, deps.lookup, deps.own);
  hosts.forEach((host, i) => {
    if (host !== null && where.get(host) === 'not_public')
      throw refuse(media.urls[i]!.path, notPublic, closed);
  });
  const uploads = ownFiles(media, deps.links.baseUrl);
  if (uploads.length === 0) return [];
  const ids = uploads.map(({ id }) => id);
  const found = await files.findLiving(deps.db, accountId, ids);
  return uploads.map(({ path, id }) => {
    const file = found.find((each) => each.id === id);
    if (file) return { path, content_type: file.content_type };
    throw refuse(
      path,
      `names ${fileId(id)}, but this account has no such file (files are kept until their expires_at)`,
      { reason: 'file_gone' },
    );
  });
}
