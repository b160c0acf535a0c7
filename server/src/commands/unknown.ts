import { costMaxUsdMicro } from '../core/price/cost.ts';
import { formatUsd } from '../core/price/money.ts';
import * as upstreamStates from '../db/upstreams/states.ts';
import * as resolutions from '../db/requests/unknown-outcomes.ts';
import { timeOfId } from '../lib/id.ts';
import { CommandFailed } from '../operations/refused.ts';
import { commandLine } from '../operations/operator-action.ts';
import {
  resolvedMax,
  resolveOutcomes,
  type Finding,
} from '../operations/upstreams/unknown-outcome.ts';
import { usd } from './account.ts';
import { definedNames } from './offline-check.ts';
import { timeIn } from './moment.ts';
import { counted, print, table, withDatabase, type Context } from './output.ts';

interface SelectedOutcomes {
  upstream?: string;
  since?: string;
  until?: string;
  model?: string;
}

export async function list(
  context: Context,
  options: SelectedOutcomes & { limit: number },
): Promise<void> {
  const selected = selectionOf(options);
  const page = { ...selected, resolved: false, below: null, limit: options.limit };
  const { sums, rows } = await withDatabase(context, async (db) => {
    const [sums, rows] = await Promise.all([
      resolutions.openByUpstream(db),
      resolutions.ended(db, page),
    ]);
    return { sums, rows };
  });
  const by_upstream = sums.map(({ upstream, count, oldest_id }) => {
    return { upstream, count, oldest_at: new Date(timeOfId(oldest_id)).toISOString() };
  });
  const data = rows.map(({ id: request_id, handle: _handle, ...row }) => ({ request_id, ...row }));
  const cells = rows.map((row) => [
    row.id,
    (row.left_at ?? row.completed_at!).toISOString(),
    row.email,
    row.model_id,
    row.upstream,
    row.left_at === null ? row.error_code! : `left (attempt ${row.attempt})`,
    formatUsd(row.quoted_usd_micro),
  ]);
  const head = ['REQUEST ID', 'ENDED', 'ACCOUNT', 'MODEL', 'UPSTREAM', 'WHY', 'QUOTED USD'];
  const told = by_upstream.map((sum) => [sum.upstream, String(sum.count), sum.oldest_at]);
  const lines = [table(['UPSTREAM', 'UNKNOWN', 'OLDEST'], told), '', table(head, cells)];
  print(context, { by_upstream, data }, lines.join('\n'));
}

/** The outcome that the command's options state. */
export interface FindingOptions {
  outcome: string;
  costUsd?: string;
  note?: string;
}

export async function resolve(
  context: Context,
  options: FindingOptions & SelectedOutcomes & { upstream: string; since: string },
): Promise<void> {
  const finding = findingOf(options);
  const selected = selectionOf(options);
  const { upstream } = options;
  const defined = await definedNames(context.config);
  const done = await withDatabase(context, async (db) => {
    // Includes upstreams whose catalog file is gone, because their requests must still be resolved.
    const known = (await upstreamStates.upstreamStates(db, defined)).map(({ name }) => name);
    if (!known.includes(upstream))
      throw new CommandFailed(`There is no upstream "${upstream}"; there are ${known.join(', ')}.`);
    return resolveOutcomes(db, commandLine, selected, finding);
  });
  const more = done.is_all
    ? ''
    : ` There are more: at most ${resolvedMax} are resolved at a time. Repeat the command.`;
  print(context, done, `${counted(done.resolved, 'outcome')} resolved.${more}`);
}

export function findingOf({ outcome, costUsd, note }: FindingOptions): Finding {
  if (outcome !== 'ran' && outcome !== 'did_not_run')
    throw new CommandFailed(`--outcome must be ran or did_not_run, not "${outcome}".`);
  if ((outcome === 'ran') !== (costUsd !== undefined))
    throw new CommandFailed(
      '--outcome ran needs --cost-usd, your cost; --outcome did_not_run takes none.',
    );
  const cost = costUsd === undefined ? 0n : usd(costUsd);
  if (cost > costMaxUsdMicro)
    throw new CommandFailed(`--cost-usd must be at most ${formatUsd(costMaxUsdMicro)}.`);
  return { outcome, cost, note: note ?? null };
}

function selectionOf({ upstream, since, until, model }: SelectedOutcomes): resolutions.Selection {
  const [from, to] = [timeIn(since, 'start', 'time'), timeIn(until, 'start', 'time')];
  return { upstream: upstream ?? null, since: from, until: to, model: model ?? null };
}
