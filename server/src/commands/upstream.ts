import { catalogDir } from '../config.ts';
import * as queue from '../db/queue.ts';
import { upstreamsOf } from '../parts.ts';
import { checkFolder } from '../storage/catalog.ts';
import { print, seconds, table, withDatabase, type Context } from './output.ts';

export async function list(context: Context): Promise<void> {
  const defined = await definedIn(context);
  const rows = await withDatabase(context, (db) => queue.upstreamStates(db, [...defined.keys()]));
  const cells = rows.map((row) => [
    row.name,
    setUp(defined.get(row.name)) ? 'yes' : 'no',
    row.waiting < queue.waitingMax ? String(row.waiting) : `${queue.waitingMax} or more`,
    row.waiting > 0 ? seconds(row.oldest_seconds) : '-',
    String(row.in_use),
    row.resting_seconds > 0 ? seconds(row.resting_seconds) : '-',
    String(row.failures),
    row.last_error ?? '-',
  ]);
  const figures = ['WAITING', 'OLDEST', 'IN USE', 'RESTS FOR', 'FAILURES', 'LAST ERROR'];
  const shown = rows.map((row) => view(row, defined.get(row.name)));
  const reasons = shown.flatMap(({ reason }) => reason ?? []);
  const lines = [table(['UPSTREAM', 'SET UP', ...figures], cells), ...reasons];
  print(context, { data: shown }, lines.join('\n'));
}

/** True, or why it is not set up; of a name that no file has, nothing. */
type Usable = true | string | undefined;

/** What the catalog files define; those of a folder that cannot be read are left out. */
async function definedIn({ config }: Context): Promise<Map<string, Usable>> {
  const opened = upstreamsOf(config);
  const dir = catalogDir(config);
  const defined = await checkFolder({ dir, ...opened })
    .then(({ upstreams }) => upstreams.map(({ definition }) => definition.name))
    .catch((error: Error) => {
      console.error(`Cannot read the folder ${dir}: ${error.message}`);
      return [];
    });
  const usable = [...opened.knownUpstreams, ...defined].map((name): [string, Usable] => {
    return [name, opened.usableUpstreams(name)];
  });
  await opened.close();
  return new Map(usable);
}

function setUp(usable: Usable): boolean {
  return usable === true;
}

function view(
  { resting_seconds, oldest_seconds, waiting, ...row }: queue.UpstreamState,
  usable: Usable,
) {
  const until = new Date(Date.now() + resting_seconds * 1000);
  const unknown = `no catalog file defines the upstream "${row.name}"`;
  return {
    ...row,
    set_up: setUp(usable),
    reason: setUp(usable) ? null : (usable ?? unknown),
    waiting,
    oldest_seconds: waiting > 0 ? Math.round(oldest_seconds) : null,
    resting_until: resting_seconds > 0 ? until.toISOString() : null,
  };
}
