import * as banners from '../db/banner.ts';
import { NewBanner } from '../http/operator/banner.ts';
import { setBanner } from '../operations/banner.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { may, row } from './command.ts';
import { act, withDatabase } from './database.ts';
import type { CommandOutput } from './output.ts';

/** The operator's text above all pages. */

export const verbs = {
  show: row('show the text above all pages', {}, async (_given, context) =>
    inWords(await withDatabase(context, banners.find)),
  ),
  set: row(
    'show a text above all pages; visitors can close it',
    {
      en: may(NewBanner.en, 'in English', 'text'),
      ru: may(NewBanner.ru, 'in Russian', 'text'),
    },
    async ({ en = null, ru = null }, context) => {
      if (en === null && ru === null) throw new CommandFailed('Give --en, --ru or both.');
      const { banner } = await act(context, 'banner.set', (db) => setBanner(db, { en, ru }));
      return inWords(banner);
    },
    { example: ['banner set --en "Films are slow today."', 'before maintenance'] },
  ),
  clear: row('remove the text', {}, async (_given, context) => {
    const none = { en: null, ru: null };
    const { banner } = await act(context, 'banner.set', (db) => setBanner(db, none));
    return inWords(banner);
  }),
};

function inWords(banner: banners.Banner | null): CommandOutput {
  const lines = [banner?.en && `en: ${banner.en}`, banner?.ru && `ru: ${banner.ru}`];
  return { json: { banner }, text: lines.filter(Boolean).join('\n') || 'No banner is set.' };
}
