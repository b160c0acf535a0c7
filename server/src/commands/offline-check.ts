import { catalogDir, type Config } from '../config.ts';
import * as controls from '../db/upstreams/controls.ts';
import type { Database } from '../lib/sql/sql.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { unsealKeys } from '../operations/upstreams/stored-keys.ts';
import { knownSecrets } from '../secrets.ts';
import { upstreamsOf } from '../services.ts';
import { checkFolder, type CheckedFolder } from '../catalog/check-folder.ts';
import { checkUpstream, type UpstreamReport } from '../upstreams/check-upstream.ts';

/** Checks upstreams from the command line, without a service. */

export type OpenedUpstreams = ReturnType<typeof upstreamsOf>;

const built = 'it comes with Farebox';

/** Reads the catalog folder. If that fails, the error says why in words. */
export async function readFolder(dir: string, opened: OpenedUpstreams): Promise<CheckedFolder> {
  return checkFolder({ dir, ...opened }).catch((error: Error) => {
    throw new CommandFailed(`Cannot read the folder ${dir}: ${error.message}`, { cause: error });
  });
}

/** The names of all upstreams: those that come with Farebox, and those of the catalog files. */
export function definedNames(config: Config): Promise<string[]> {
  return withUpstreams(config, async (opened) => {
    const { upstreams } = await readFolder(catalogDir(config), opened);
    return [...opened.knownUpstreams, ...upstreams.map(({ definition }) => definition.name)];
  });
}

/** Opens the upstreams for `work`, and closes them afterwards. */
export async function withUpstreams<T>(
  config: Config,
  work: (opened: OpenedUpstreams) => Promise<T>,
): Promise<T> {
  const opened = upstreamsOf(config);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/**
 * Uses the keys that operators have stored in place of variables; call it before the folder is
 * read. Returns them by upstream; null: sealed with a secret that is not set here.
 */
export async function useStoredKeys(db: Database, config: Config, opened: OpenedUpstreams) {
  const keys = unsealKeys(await controls.list(db), knownSecrets(config));
  opened.storeKeys(keys);
  return keys;
}

/** Checks an upstream with the definitions of the folder. Does not throw if the upstream fails. */
export function checkFromFolder(
  name: string,
  { rows }: Pick<CheckedFolder, 'rows'>,
  opened: OpenedUpstreams,
  within?: AbortSignal,
): Promise<UpstreamReport> {
  const upstream = opened.live.get(name);
  const usable = opened.usableUpstreams(name);
  const { fetch } = opened.tools;
  return checkUpstream({ name, about: opened.about(name), usable, upstream, rows, fetch }, within);
}

/** The result of a check in words. */
export function reportText(report: UpstreamReport, fileOf: (id: string) => string): string {
  const { name, adapter, url, set_up, reason, answers, credential_taken, rows, listed } = report;
  const kind = adapter === null ? built : `${adapter}, ${url ?? 'no address yet'}`;
  const lines = [`${name}: ${kind}`, `  set up      ${set_up ? 'yes' : `no: ${reason}`}`];
  if (answers !== null) lines.push(`  address     ${answers ? 'answers' : 'does not answer'}`);
  if (report.keys.length > 0 && answers)
    lines.push(...report.keys.map(({ key, taken }) => `  key ${key} ${takenWords(taken)}`));
  else if (credential_taken !== null) lines.push(`  credential  ${credentialWords(report)}`);
  else if (answers) lines.push(`  credential  ${untried}`);
  const has = listed === null ? '' : `; it lists ${listed} ${listed === 1 ? 'model' : 'models'}`;
  lines.push(`  catalog     ${rows} ${rows === 1 ? 'row uses' : 'rows use'} it${has}`);
  const lacks = report.missing.map(
    ({ id, model }) => `it has no model ${model} (${id} in ${fileOf(id)})`,
  );
  return [...lines, ...[...report.problems, ...lacks].map((each) => `  wrong: ${each}`)].join('\n');
}

function takenWords(taken: boolean | null): string {
  return taken === null ? untried : taken ? 'taken' : 'not confirmed';
}

const untried = 'not checked: it has no call that costs nothing';

/** "Not confirmed" covers every failed check; the reason is listed among the problems. */
function credentialWords({ credential_taken, has_credential }: UpstreamReport): string {
  if (!credential_taken) return 'not confirmed';
  return has_credential ? 'taken' : 'none needed';
}
