import { catalogDir } from '../config.ts';
import type { Database } from '../lib/sql/sql.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { noteKeyTaken } from '../operations/upstreams/circuit.ts';
import * as control from '../operations/upstreams/control.ts';
import { isHealthy, type UpstreamReport } from '../upstreams/check-upstream.ts';
import { act, hasDatabase, withDatabase } from './database.ts';
import {
  definedNames,
  checkFromFolder,
  readFolder,
  reportText,
  useStoredKeys,
  withUpstreams,
} from './offline-check.ts';
import type { Context, CommandOutput } from './output.ts';

/** Checks one upstream, or each that is set up, without causing costs. */
export async function test(name: string | undefined, context: Context): Promise<CommandOutput> {
  const { config } = context;
  const { looks, owners, dir } = await withUpstreams(config, async (opened) => {
    await withKnown(context, 'Stored keys were not read', (db) =>
      useStoredKeys(db, config, opened),
    );
    const dir = catalogDir(config);
    const folder = await readFolder(dir, opened);
    const names = [
      ...opened.knownUpstreams,
      ...folder.upstreams.map((each) => each.definition.name),
    ];
    if (name !== undefined && !names.includes(name))
      throw unknown(name, names, dir, folder.problems);
    const isSetUp = (each: string) => opened.usableUpstreams(each) === true;
    const wanted = name === undefined ? names.filter(isSetUp) : [name];
    const looks = await Promise.all(wanted.map((each) => checkFromFolder(each, folder, opened)));
    return { looks, owners: folder.owners, dir };
  });
  await noteTaken(context, looks);
  const ok = looks.every(isHealthy);
  const texts = looks.map((look) => reportText(look, (id) => owners.get(id) ?? dir));
  const none = 'No upstream is set up: "farebox upstream list" says what each needs.';
  const text = texts.length === 0 ? none : texts.join('\n');
  return { json: { ok, data: looks }, text, exit: ok ? 0 : 1 };
}

/** Ends the pause of a key that was rejected before and is accepted now. */
async function noteTaken(context: Context, looks: UpstreamReport[]): Promise<void> {
  const taken = looks.flatMap(({ name, credential_taken, keys }) => [
    ...(credential_taken ? [{ name, key: null }] : []),
    ...keys.filter((each) => each.taken).map(({ key }) => ({ name, key })),
  ]);
  if (taken.length === 0) return;
  await withKnown(context, 'Pauses for a rejected key were not ended', async (db) => {
    for (const { name, key } of taken) await noteKeyTaken(db, name, key);
  });
}

/** Without a database, or if that is away, upstreams are tested all the same. */
async function withKnown(
  context: Context,
  otherwise: string,
  work: (db: Database) => Promise<unknown>,
): Promise<void> {
  if (!hasDatabase(context.config)) return;
  await withDatabase(context, work).catch((error: Error) => {
    if (!(error instanceof CommandFailed)) throw error;
    context.err(`${otherwise}: ${error.message}`);
  });
}

/** Ends a pause, whatever caused it. */
export async function resume(
  { name, model = null }: { name: string; model?: string | null },
  context: Context,
): Promise<CommandOutput> {
  const names = await definedNames(context.config);
  if (!names.includes(name)) throw unknown(name, names, catalogDir(context.config), []);
  const { was_paused } = await act(context, 'upstream.wake', (db) =>
    control.resume(db, name, model),
  );
  const what = model === null ? name : `${name} ${model}`;
  const text = was_paused ? `${what} is no longer paused.` : `${what} was not paused.`;
  return { json: { ok: true, upstream: name, model, was_paused }, text };
}

function unknown(name: string, names: string[], dir: string, problems: unknown[]): CommandFailed {
  // Definitions in a file with a problem are not used.
  const hint = problems.length > 0 ? ' "farebox catalog check" finds problems there.' : '';
  return new CommandFailed(
    `No catalog file in ${dir} defines the upstream "${name}"; ` +
      `there are ${names.join(', ')}.${hint}`,
  );
}
