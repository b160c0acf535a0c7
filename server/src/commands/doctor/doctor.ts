import { hostname } from 'node:os';
import manifest from '../../../package.json' with { type: 'json' };
import { catalogDir, ConfigError, dataDir, type Config } from '../../config.ts';
import * as installation from '../../db/installation.ts';
import { redact } from '../../lib/log.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { readAttention } from '../../operations/attention.ts';
import { CommandFailed } from '../../operations/refusal.ts';
import { openDeposits } from '../../services.ts';
import { skewOf } from '../../worker/background/installation.ts';
import { hasDatabase, withDatabase } from '../database.ts';
import {
  readFolder,
  useStoredKeys,
  withUpstreams,
  type OpenedUpstreams,
} from '../offline-check.ts';
import type { CommandOutput, Context } from '../output.ts';
import { inWords } from './attention-words.ts';
import { checkInside } from './database-checks.ts';
import { findingsOf, type Diagnosis } from './finding.ts';
import { checkCollector, checkMail, checkStorage, checkUpstreams } from './outside-checks.ts';
import { checkSettings } from './settings-checks.ts';

/** Looks at everything that an operator would look at, and changes nothing. */
export async function doctor(context: Context): Promise<CommandOutput> {
  const { config } = context;
  const cluster = config.DATABASE_URL === null ? dataDir(config) : null;
  const findings = await withUpstreams(config, async (opened) => {
    const outside = await Promise.all([
      checkStorage(config, cluster),
      checkMail(config),
      checkCollector(config),
    ]);
    const known = await checkDatabase(context, { config, opened });
    return [...checkSettings(config), ...outside.flat(), ...known];
  });
  return outputOf(findings.map(withoutSecrets));
}

interface World {
  config: Config;
  opened: OpenedUpstreams;
}

/** Also what is read with the database's help: keys of upstreams may be stored there. */
async function checkDatabase(context: Context, world: World): Promise<Diagnosis[]> {
  const { config } = context;
  const make = findingsOf('database');
  const withoutIt = async (...findings: Diagnosis[]) => [
    ...findings,
    ...(await inFolder(world, ({ checked }) => checked)),
  ];
  if (!hasDatabase(config))
    return withoutIt(
      make.wrong(`There is none in ${dataDir(config)}.`, 'Set DATABASE_URL, or start the service.'),
    );
  try {
    return await withDatabase(context, (db) => checkWith(db, world));
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    return withoutIt(...error.message.split('\n').map((says) => make.wrong(says)));
  }
}

async function checkWith(db: Database, world: World): Promise<Diagnosis[]> {
  const { config, opened } = world;
  const keys = await useStoredKeys(db, config, opened);
  const make = findingsOf('stored keys');
  const unread = [...keys].flatMap(([name, key]) => (key === null ? [name] : []));
  const sealed =
    unread.length === 0
      ? []
      : [
          make.wrong(
            `The stored keys of ${unread.join(', ')} were sealed with another secret.`,
            'Set that secret as FAREBOX_SECRET_PREVIOUS, or the keys again: farebox upstream key NAME',
          ),
        ];
  return [
    ...sealed,
    ...(await checkInside(db, config, [...opened.live.keys()])),
    ...(await inFolder(world, async ({ checked, files }) => [
      ...checked,
      ...(await attention(db, world, files)),
    ])),
  ];
}

type Folder = Awaited<ReturnType<typeof readFolder>>;

/** Reads and checks the catalog folder; if that fails, only this is found. */
async function inFolder(
  { config, opened }: World,
  work: (read: { checked: Diagnosis[]; files: Folder }) => Diagnosis[] | Promise<Diagnosis[]>,
): Promise<Diagnosis[]> {
  let files: Folder;
  try {
    files = await readFolder(catalogDir(config), opened);
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    return [findingsOf('catalog').wrong(error.message, 'Set FAREBOX_CATALOG.')];
  }
  return work({ checked: await checkUpstreams(files, opened), files });
}

/** The lines that the console shows. */
async function attention(db: Database, world: World, files: Folder): Promise<Diagnosis[]> {
  const { config, opened } = world;
  try {
    const chains = await openDeposits(config, opened.tools.fetch);
    const begun = Date.now();
    const row = await installation.find(db);
    const skew = row === null ? 0 : skewOf(row.now_ms, begun, Date.now());
    const held = row?.held_why ?? null;
    const lines = await readAttention({
      db,
      chains,
      upstreams: opened.live,
      files: {
        contents: () => files.contents,
        problems: () => files.problems,
        warnings: () => files.warnings,
      },
      settings: config,
      installation: { held: () => held, skew: () => skew || null },
      // Told with their cause by the checks of storage and disks.
      storage: { isAway: () => false },
      blocked: () => null,
    }).finally(chains.hangUp);
    const { fine } = findingsOf('attention');
    if (lines.length > 0) return lines.map(inWords);
    return [fine('Nothing else waits on the console.')];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const todo = 'Correct the setting, and run: farebox chain check NAME';
    return [findingsOf('chains').wrong(error.message, todo)];
  }
}

function withoutSecrets(finding: Diagnosis): Diagnosis {
  return { ...finding, says: redact(finding.says) };
}

const order = ['wrong', 'note', 'unknown', 'fine'] as const;

function outputOf(findings: Diagnosis[]): CommandOutput {
  const sorted = order.flatMap((state) => findings.filter((each) => each.state === state));
  const count = (state: Diagnosis['state']) =>
    findings.filter((each) => each.state === state).length;
  const ok = count('wrong') === 0;
  const widest = Math.max(...sorted.map(({ check }) => check.length));
  const lines = sorted.flatMap(({ check, state, says, todo }) => [
    `${state.padEnd(7)}  ${check.padEnd(widest)}  ${says}`,
    ...(todo === undefined ? [] : [`${' '.repeat(widest + 11)}→ ${todo}`]),
  ]);
  const { version } = manifest;
  const verdict = ok ? 'Nothing is wrong' : `Wrong: ${count('wrong')}`;
  const sum = `${verdict}, to know: ${count('note')}, fine: ${count('fine')}. Farebox ${version} on ${hostname()}.`;
  return {
    json: { ok, version, checks: sorted },
    text: [...lines, '', sum].join('\n'),
    exit: ok ? 0 : 1,
  };
}
