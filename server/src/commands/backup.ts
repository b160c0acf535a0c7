import { resolve } from 'node:path';
import { openBeside } from '../database.ts';
import * as s from '../http/schemas/schema.ts';
import {
  checkBackup,
  restoreBackup,
  writeBackup,
  type BackupPlace,
  type BackupReport,
} from '../operations/backup.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { environmentOf } from '../read-config.ts';
import { openMedia } from '../services.ts';
import { operand, row } from './command.ts';
import { withDatabase } from './database.ts';
import { countText, type CommandOutput, type Context } from './output.ts';

/** Backups by pg_dump. */

const file = operand(s.text());

export const verbs = {
  create: row('write the database into a file, by pg_dump', { file }, async (given, context) => {
    const place = placeOf(given, context);
    const bytes = await withDatabase(context, (db) => writeBackup(db, place));
    const lines = [
      `Written to ${place.path}: ${bytes} bytes. Keep it as safe as a password.`,
      'It has no media and no FAREBOX_SECRET. Prove that it can be restored: farebox backup check FILE',
    ];
    return { json: { ok: true, file: place.path, bytes }, text: lines.join('\n') };
  }),
  check: row(
    'restore a backup into a database for a moment, and prove books and media there',
    { file },
    async (given, context) => {
      const place = placeOf(given, context);
      const media = openMedia(context.config);
      const report = await withDatabase(context, (db) => checkBackup(db, media, place, openBeside));
      return outputOf(report, `${place.path} can be restored`);
    },
  ),
  restore: row('read a backup into an empty database', { file }, async (given, context) => {
    const place = placeOf(given, context);
    const db = openBeside(place.url);
    try {
      const report = await restoreBackup(db, openMedia(context.config), place);
      return outputOf(report, 'Restored', [
        'A service starts no jobs on it and sends nothing until you run: farebox resume-after-restore',
      ]);
    } finally {
      await db.close();
    }
  }),
};

function placeOf(given: { file: string }, context: Context): BackupPlace {
  const { config } = context;
  if (config.DATABASE_URL === null)
    throw new CommandFailed(
      'The embedded PostgreSQL has no pg_dump. Use "farebox export FILE", or set DATABASE_URL.',
    );
  return { url: config.DATABASE_URL, env: environmentOf(context), path: resolve(given.file) };
}

function outputOf(report: BackupReport, done: string, more: string[] = []): CommandOutput {
  const { books, media, missing, missing_keys } = report;
  const ok = books.ok && missing === 0;
  const { laws, transfers } = books.checked;
  const proved = `${laws} laws over ${countText(transfers, 'transfer')}`;
  const lines = [
    books.ok
      ? `${done}, and the books balance: ${proved}.`
      : `The books do NOT balance (${proved}): ${books.violations.map(({ law }) => law).join(', ')}.`,
    missing === 0
      ? `All media that callers may still download are in the storage: ${media}.`
      : `NOT in the storage: ${missing} of ${countText(media, 'media file')}, such as ${missing_keys.join(', ')}.`,
    ...more,
  ];
  return { json: { ...report, ok }, text: lines.join('\n'), exit: ok ? 0 : 1 };
}
