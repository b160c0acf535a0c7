import { isUtf8 } from 'node:buffer';
import { FetchError } from './fetch-error.ts';
import type { StreamReply } from './streamed-reply.ts';

/** Media stores need one or two. */
const redirectsMax = 5;
const statuses = new Set([301, 302, 303, 307, 308]);

/**
 * The first reply to a GET that is no redirect. `get` makes each of the calls, so that its guard
 * judges every address. `isHome` turns false at the first address on another origin and stays
 * false: from there on no key may be sent.
 *
 * @throws FetchError of `get`; `blocked` for a target that is no URL; `protocol` after too many
 * redirects.
 */
export async function followRedirects(
  url: string,
  get: (url: string, isHome: boolean) => Promise<StreamReply>,
): Promise<StreamReply> {
  let at = url;
  let isHome = true;
  for (let left = redirectsMax; ; left--) {
    const reply = await get(at, isHome);
    const { location } = reply.headers;
    if (!statuses.has(reply.status) || location === undefined) return reply;
    reply.close();
    const { host, origin } = new URL(at);
    if (left === 0)
      throw new FetchError('protocol', `${host}: more than ${redirectsMax} redirects`, {
        sent: true,
      });
    const target = URL.parse(inUtf8(location), at);
    if (target === null)
      throw new FetchError('blocked', `${host}: it redirects to what is not a URL`, { sent: true });
    isHome &&= target.origin === origin;
    at = target.href;
  }
}

/** A header's bytes arrive one per character. Some servers write addresses in UTF-8. */
function inUtf8(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : text;
}
