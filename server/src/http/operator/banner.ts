import * as banners from '../../db/banner.ts';
import { bannerMax, setBanner } from '../../operations/banner.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { form, named, nullable, object, optional, text, time } from '../schemas/schema.ts';

/** The operator's text above all pages. */

const words = { maxLength: bannerMax };

export const NewBanner = {
  en: optional(nullable(text('In English.', words))),
  ru: optional(nullable(text('In Russian.', words))),
};

export const Banner = named(
  'Banner',
  object(
    {
      en: nullable(text('Null: the Russian text is shown there, too.')),
      ru: nullable(text('Null: the English text is shown there, too.')),
      changed_at: time(),
    },
    { description: 'Plain text above all pages.' },
  ),
);
const Shown = object({ banner: nullable(Banner) });

/** GET /operator/banner */
export const read = operatorEndpoint({ reply: Shown }, async (_call, { db }) => ({
  banner: await banners.find(db),
}));

/** PUT /operator/banner: without any text, there is none from now on. */
export const set = operatorAction(
  'banner.set',
  { body: form(NewBanner), reply: Shown },
  async ({ body: { en = null, ru = null } }, { banner }) =>
    async (db) => ({ ...(await setBanner(db, { en, ru })), after: banner.forget }),
);
