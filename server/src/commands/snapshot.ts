import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import type { UnfinishedWork } from '../db/requests/unfinished.ts';
import * as exporting from '../operations/export.ts';
import * as importing from '../operations/import.ts';
import { openMedia } from '../services.ts';
import { keepSecret, keptSecret } from '../secrets.ts';
import { withDatabase } from './database.ts';
import { countText, type Context, type CommandOutput } from './output.ts';
import { workLines } from './restored.ts';
import { openTrialAccounts } from './trial/trial-accounts.ts';

/** Work that takes longer reports its progress on stderr at this interval. */
const intervalMs = 3_000;

export async function exportSnapshot(
  { file }: { file: string },
  context: Context,
): Promise<CommandOutput> {
  const { config } = context;
  const path = resolve(file);
  const secret = config.FAREBOX_SECRET === null ? keptSecret(config) : null;
  const options = { path, secret, tell: teller('exporting', context) };
  const { rows, files, bytes, gone, unfinished, seal } = await withDatabase(context, (db) =>
    exporting.exportSnapshot(db, openMedia(config), options),
  );
  const json = {
    ok: true,
    file: path,
    file_bytes: seal.bytes,
    sha256: seal.sha256,
    accounts: rows.accounts ?? 0,
    requests: rows.requests ?? 0,
    rows,
    files,
    bytes,
    files_gone: gone,
    secret_included: secret !== null,
    unfinished,
  };
  const { accounts, requests } = json;
  const lines = [
    `Written to ${path}: accounts ${accounts}, requests ${requests}, media files ${files}.`,
    'Keep it as safe as a password: it holds key hashes and signing secrets.',
    ...(secret === null ? ['FAREBOX_SECRET is not in it: take it along by hand.'] : []),
    ...whileOpen(unfinished, 'Stop this service before you start one on a copy'),
  ];
  return { json, text: lines.join('\n') };
}

export async function importSnapshot(
  { file, release_open: releaseOpen = false }: { file: string; release_open?: boolean },
  context: Context,
): Promise<CommandOutput> {
  const { config } = context;
  const path = resolve(file);
  await importing.demandImportable(path);
  let secret: KeptFile = { path: null, says: [] };
  let ofTrial: string[] = [];
  const { taken_at, rows, files, bytes, checked, released, unfinished, held } = await withDatabase(
    context,
    async (db) => {
      const imported = await importing.importSnapshot(db, openMedia(config), {
        path,
        releaseOpen,
        keepSecret: (given) => void (secret = keep(config, given)),
        tell: teller('importing', context),
      });
      ofTrial = await openTrialAccounts(db);
      return imported;
    },
    { migrates: true },
  );
  const json = {
    ok: true,
    taken_at,
    accounts: rows.accounts ?? 0,
    requests: rows.requests ?? 0,
    rows,
    files,
    bytes,
    checked,
    released_requests: released,
    unfinished,
    held,
    secret_file: secret.path,
    trial_accounts: ofTrial,
  };
  const { accounts, requests } = json;
  const lines = [
    `The database has the state of ${taken_at}: accounts ${accounts}, requests ${requests}, media files ${files}.`,
    `The books balance: ${checked.laws} laws over ${countText(checked.transfers, 'transfer')}.`,
    ...(released > 0
      ? [`Open requests that were ended, with their reservations given back: ${released}.`]
      : []),
    ...whileOpen(unfinished, 'Before you start this service, stop the one that took the snapshot'),
    ...(held
      ? [
          'This service starts no jobs and sends nothing until you run: farebox resume-after-restore',
        ]
      : []),
    ...secret.says,
    ...whileTrial(ofTrial),
  ];
  return { json, text: lines.join('\n') };
}

/** Everyone who has seen the trial's password could run the service or spend its play money. */
function whileTrial(emails: readonly string[]): string[] {
  if (emails.length === 0) return [];
  return [
    `Anyone who knows the trial's password and key can use its accounts, ${emails.join(', ')}. Close them:`,
    ...emails.map((email) => `  farebox account suspend ${email}`),
  ];
}

/** A copy and its original would both carry out the unfinished work. */
function whileOpen(unfinished: UnfinishedWork, advice: string): string[] {
  const { work, to_notify, events_to_send } = unfinished;
  if (work.length + to_notify + events_to_send === 0) return [];
  return [
    'There is unfinished work. Next steps once it continues:',
    ...workLines(unfinished),
    `${advice}: otherwise both would do this work, and an upstream may be paid twice.`,
    'With "farebox import --release-open" a copy instead ends the requests and gives their reservations back.',
  ];
}

interface KeptFile {
  path: string | null;
  says: string[];
}

/** Stores the imported secret where this service finds it, and never replaces another one. */
function keep(config: Config, given: string): KeptFile {
  const own = config.FAREBOX_SECRET ?? keptSecret(config);
  if (own === given) return { path: null, says: [] };
  const path = keepSecret(config, given, own !== null);
  const says =
    own === null
      ? [
          `The signing secret is in ${path}. If a service needs one, set FAREBOX_SECRET_FILE=${path}`,
        ]
      : [
          'Links from before the import need the old signing secret for one more day:',
          `FAREBOX_SECRET_PREVIOUS_FILE=${path}`,
        ];
  return { path, says };
}

function teller(doing: string, { err }: Context): (what: string) => void {
  let shownAt = performance.now();
  return (what) => {
    if (performance.now() - shownAt < intervalMs) return;
    shownAt = performance.now();
    err(`${doing} ${what}`);
  };
}
