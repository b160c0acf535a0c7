import { linesOf, linesRule } from '../core/account/name.ts';
import * as banners from '../db/banner.ts';
import type { Database } from '../lib/sql/sql.ts';
import type { ActionResult } from './operator-action.ts';
import { Refusal } from './refusal.ts';

/** The operator's text above all pages: plain text, in one language or in both. */

export const bannerMax = 500;

/** Sets the text, or removes it if both are empty. Throws `Refusal`. */
export async function setBanner(
  db: Database,
  wanted: { en: string | null; ru: string | null },
): Promise<ActionResult<{ banner: banners.Banner | null }>> {
  const before = await banners.find(db);
  const banner = await banners.set(db, { en: textOf(wanted.en), ru: textOf(wanted.ru) });
  const textsOf = (of: banners.Banner | null) => ({ en: of?.en ?? null, ru: of?.ru ?? null });
  return { answer: { banner }, details: { ...textsOf(banner), before: textsOf(before) } };
}

function textOf(given: string | null): string | null {
  const text = linesOf(given ?? '', bannerMax);
  if (text !== null) return text || null;
  throw new Refusal(`A banner is ${linesRule(bannerMax)}.`, {
    reason: 'banner_invalid',
    max_length: bannerMax,
  });
}
