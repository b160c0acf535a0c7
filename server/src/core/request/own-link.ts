import { isUuid } from '../../lib/id.ts';

/**
 * Recognises our own addresses in a caller's input: an output that is used as the next input. Pure.
 */

export interface OwnOutput {
  request_id: string;
  index: number;
  exp: string | null;
  sig: string | null;
}

/** The output that one of our addresses leads to; null for every other address. */
export function ownOutput(url: string, baseUrl: string): OwnOutput | null {
  if (!url.startsWith(`${baseUrl}/requests/`) || !URL.canParse(url)) return null;
  const { pathname, searchParams } = new URL(url);
  const inside = pathname.slice(new URL(baseUrl).pathname.length);
  const [, id, index] =
    /^\/requests\/([0-9a-f-]{36})\/output\/(0|[1-9]\d{0,5})$/i.exec(inside) ?? [];
  if (id === undefined || !isUuid(id.toLowerCase())) return null;
  return {
    request_id: id.toLowerCase(),
    index: Number(index),
    exp: searchParams.get('exp'),
    sig: searchParams.get('sig'),
  };
}
