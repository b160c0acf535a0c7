import { messageOf } from '../lib/unknown.ts';
import { findOrphans } from '../operations/orphans.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { openMedia } from '../services.ts';
import { flag, limitOf, row } from './command.ts';
import { withDatabase } from './database.ts';
import { countText, seconds, table } from './output.ts';

/** Files and outputs as they are stored. */

export const verbs = {
  orphans: row(
    'list objects that nothing uses, such as those of a process that was killed',
    { remove: flag('delete those that are older than a day'), limit: limitOf(100) },
    async ({ remove: removes = false, limit }, context) => {
      const media = openMedia(context.config);
      await media.checkReachable().catch((cause: unknown) => {
        throw new CommandFailed(`The storage cannot be used: ${messageOf(cause)}`, { cause });
      });
      const json = await withDatabase(context, (db) => findOrphans(db, media, { removes, limit }));
      const shown = table(json.data, {
        OBJECT: 'key',
        BYTES: 'size',
        AGE: ({ stored_at }) => seconds((Date.now() - stored_at.getTime()) / 1000),
        REMOVED: ({ removed }) => (removed ? 'yes' : 'no'),
      });
      const { orphans, bytes, removed, failed, unknown } = json;
      const text = `${countText(orphans, 'object')} that nothing uses: ${bytes} bytes; removed: ${removed}; could not be removed: ${failed}. Not of this database: ${unknown}.`;
      const whole = json.data.length === 0 ? text : `${shown}\n${text}`;
      return { json, text: whole, exit: failed === 0 ? 0 : 1 };
    },
  ),
};
