import * as banners from '../../db/banner.ts';
import { bannerMax, setBanner } from '../../operations/banner.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import * as s from '../schemas/schema.ts';

/** The operator's text above all pages. */

const words = { maxLength: bannerMax };

export const NewBanner = {
  en: s.optional(s.nullable(s.text('In English.', words))),
  ru: s.optional(s.nullable(s.text('In Russian.', words))),
};

export const Banner = s.namedObject(
  'Banner',

  {
    en: s.nullable(s.text('Null: the Russian text is shown there, too.')),
    ru: s.nullable(s.text('Null: the English text is shown there, too.')),
    changed_at: s.time(),
  },
  { description: 'Plain text above all pages.' },
);
const Shown = s.object({ banner: s.nullable(Banner) });

/** GET /operator/banner */
export const read = operatorEndpoint({ reply: Shown }, async (_call, { db }) => ({
  banner: await banners.find(db),
}));

/** PUT /operator/banner: without any text, there is none from now on. */
export const set = operatorAction(
  'banner.set',
  { body: s.form(NewBanner), reply: Shown },
  async ({ body: { en = null, ru = null } }, { banner }) =>
    async (db) => ({ ...(await setBanner(db, { en, ru })), after: banner.forget }),
);
