import * as banners from '../db/banner.ts';
import type { Database } from '../lib/sql/sql.ts';

/** The operator's text above all pages, which nearly every page asks for. */
export interface BannerView {
  /** Null: there is none, or the database does not answer. */
  read: () => Promise<banners.Banner | null>;
  /** The next page reads it again. */
  forget: () => void;
}

/** Other processes see a change after this time. */
const keptMs = 5_000;

export function createBannerView(db: Database): BannerView {
  let kept: { at: number; found: Promise<banners.Banner | null> } | null = null;
  return {
    read: () => {
      if (kept === null || performance.now() - kept.at > keptMs)
        kept = { at: performance.now(), found: banners.find(db).catch(() => null) };
      return kept.found;
    },
    forget: () => {
      kept = null;
    },
  };
}
