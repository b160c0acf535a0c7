import { catalogDir } from '../config.ts';
import * as upstreamStates from '../db/upstreams/states.ts';
import * as controls from '../db/upstreams/controls.ts';
import { LogReason } from '../http/schemas/operator.ts';
import * as s from '../http/schemas/schema.ts';
import type { Database } from '../lib/sql/sql.ts';
import { readKeyStates, type UpstreamKeyView } from '../operations/upstreams/upstream-keys.ts';
import { readFolder, useStoredKeys, withUpstreams } from './offline-check.ts';
import { flag, may, operand, row } from './command.ts';
import { withDatabase } from './database.ts';
import { alignCells, countText, seconds, type Context, type CommandOutput } from './output.ts';
import { setKey, setState } from './upstream-control.ts';
import { resume, test } from './upstream-check.ts';

const name = operand(s.text());

export const verbs = {
  list: row(
    'list upstreams: set up or not, on, draining or off, where their keys come from, queues, slots, pauses and failures',
    {},
    (_, context) => list(context),
  ),
  test: row(
    'check the address, credential and models of upstreams, at no cost; exit 1 if a check fails',
    { name: s.optional(operand(s.text('default: all that are set up'))) },
    ({ name }, context) => test(name, context),
    { example: ['upstream test fal', 'exit 2 if no catalog file defines it'] },
  ),
  set: row(
    'switch an upstream on or off, or let it drain: nothing new starts, running jobs end',
    {
      name,
      state: operand(s.choice(controls.controlStates)),
      reason: may(LogReason, "for the operator's log"),
    },
    setState,
    { example: ['upstream set fal draining', 'holds in all processes at once'] },
  ),
  key: row(
    'set the key of an upstream from standard input, in place of its variable',
    {
      name,
      remove: flag('use the variable again'),
      reason: may(LogReason, "for the operator's log"),
    },
    setKey,
    { example: ['upstream key fal < key.txt', 'it is stored encrypted and never shown again'] },
  ),
  resume: row(
    'end the pause of an upstream and the pauses of its models and keys',
    {
      name,
      model: s.optional(s.text('only this model, by its name at the upstream', { word: 'name' })),
    },
    resume,
  ),
};

const figures = ['WAITING', 'OLDEST', 'IN USE', 'PAUSED FOR', 'FAILURES'];
const head = ['UPSTREAM', 'SET UP', 'STATE', 'KEY FROM', ...figures, 'LAST ERROR AT', 'LAST ERROR'];

async function list(context: Context): Promise<CommandOutput> {
  const { setups, rows, models, states, keys } = await withDatabase(context, async (db) => {
    const { setups, live } = await definedIn(context, db);
    const rows = await upstreamStates.readUpstreamStates(db, [...setups.keys()]);
    const names = rows.map(({ name }) => name);
    const models = await upstreamStates.listPausedModels(db, names);
    const set = await controls.list(db);
    const states = new Map(set.map(({ name, state }) => [name, state]));
    return { setups, rows, models, states, keys: await readKeyStates(db, live) };
  });
  const pausesOf = (name: string) => models.filter(({ upstream }) => upstream === name);
  const keysOf = (name: string) => keys.filter(({ upstream }) => upstream === name);
  const stateOf = ({ name }: { name: string }) => states.get(name) ?? 'on';
  const shown = rows.map((row) => ({
    ...view(row, setups.get(row.name), pausesOf(row.name), keysOf(row.name)),
    state: stateOf(row),
  }));
  const cells = rows.flatMap((row) => [
    cellsOf(row, stateOf(row), setups.get(row.name), pausesOf(row.name).length),
    ...pausesOf(row.name).map((each) => cellsOfModel(each)),
    ...keysOf(row.name).flatMap((key) => [
      [`  key ${key.key}`, '', '', '', '', '', String(key.in_use), ...troubles(key)],
      ...key.paused_models.map((each) => cellsOfModel(each, '    ')),
    ]),
  ]);
  const reasons = shown.flatMap(({ reason }) => reason ?? []);
  return { json: { data: shown }, text: [alignCells([head, ...cells]), ...reasons].join('\n') };
}

function cellsOf(
  row: upstreamStates.UpstreamState,
  state: string,
  setup: Setup | undefined,
  pausedModels: number,
): string[] {
  const [pausedFor, ...others] = troubles(row);
  // "-" would mean healthy, and hide the paused models when lines are filtered.
  const isPartly = row.paused_seconds === 0 && pausedModels > 0;
  return [
    row.name,
    setup?.usable === true ? 'yes' : 'no',
    state,
    setup?.key_from ?? '-',
    row.waiting < upstreamStates.waitingMax
      ? String(row.waiting)
      : `${upstreamStates.waitingMax} or more`,
    row.waiting > 0 ? seconds(row.oldest_seconds) : '-',
    String(row.in_use),
    isPartly ? countText(pausedModels, 'model') : pausedFor!,
    ...others,
  ];
}

function cellsOfModel({ model, ...row }: upstreamStates.PausedModel, indent = '  '): string[] {
  return [`${indent}${model}`, '', '', '', '', '', '', ...troubles(row)];
}

type Troubles = Pick<
  upstreamStates.UpstreamState,
  'paused_seconds' | 'failures' | 'last_error' | 'last_error_at'
>;

function troubles({ paused_seconds, failures, last_error, last_error_at }: Troubles): string[] {
  return [
    paused_seconds > 0 ? seconds(paused_seconds) : '-',
    String(failures),
    last_error_at?.toISOString() ?? '-',
    last_error ?? '-',
  ];
}

/** An upstream may be missing here because definitions in a file with a problem are not used. */
const badFiles = 'The catalog files have problems: "farebox catalog check" names them.';

interface Setup {
  /** True if it is set up, otherwise the reason why not. */
  usable: true | string;
  /** The variable of its key; `stored`: an operator has set it; null: it takes none. */
  key_from: string | null;
}

/** The upstreams of the catalog files; none if the folder cannot be read. */
function definedIn({ config, err }: Context, db: Database) {
  return withUpstreams(config, async (opened) => {
    const stored = await useStoredKeys(db, config, opened);
    const defined = await readFolder(catalogDir(config), opened)
      .then(({ upstreams, problems }) => {
        if (problems.length > 0) err(badFiles);
        return upstreams.map(({ definition }) => definition);
      })
      .catch((error: Error) => {
        err(error.message);
        return [];
      });
    const builtIn = opened.knownUpstreams.map((name) => ({ name, key_from: null }));
    const setups = [...builtIn, ...defined].map(({ name, key_from }): [string, Setup] => {
      const usable = opened.usableUpstreams(name);
      return [name, { usable, key_from: stored.has(name) ? 'stored' : key_from }];
    });
    return { setups: new Map(setups), live: opened.live };
  });
}

function view(
  { paused_seconds, oldest_seconds, waiting, ...row }: upstreamStates.UpstreamState,
  setup: Setup | undefined,
  paused: upstreamStates.PausedModel[],
  keys: UpstreamKeyView[],
) {
  const unknown = `no catalog file defines the upstream "${row.name}"`;
  return {
    ...row,
    set_up: setup?.usable === true,
    reason: setup?.usable === true ? null : (setup?.usable ?? unknown),
    key_from: setup?.key_from ?? null,
    waiting,
    oldest_seconds: waiting > 0 ? Math.round(oldest_seconds) : null,
    paused_until: until(paused_seconds),
    paused_models: paused.map(modelView),
    keys: keys.map(({ upstream: _upstream, paused_seconds: left, paused_models, ...key }) => ({
      ...key,
      paused_until: until(left),
      paused_models: paused_models.map(modelView),
    })),
  };
}

function modelView({ upstream: _upstream, paused_seconds, ...model }: upstreamStates.PausedModel) {
  return { ...model, paused_until: until(paused_seconds) };
}

function until(paused_seconds: number): string | null {
  if (paused_seconds <= 0) return null;
  return new Date(Date.now() + paused_seconds * 1000).toISOString();
}
