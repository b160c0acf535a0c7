import { costMaxUsdMicro } from '../core/cost.ts';
import { formatUsd } from '../core/money.ts';
import * as resolutions from '../db/resolutions.ts';
import { timeOfId } from '../lib/id.ts';
import { Refused } from '../operations/account.ts';
import { commandLine } from '../operations/act.ts';
import { resolvedMax, resolveOutcomes } from '../operations/unknown-outcome.ts';
import { usd } from './account.ts';
import { momentOf } from './moment.ts';
import { counted, print, table, withDatabase, type Context } from './output.ts';

interface Selected {
  upstream?: string;
  since?: string;
}

export async function list(context: Context, options: Selected & { limit: number }): Promise<void> {
  const selected = selectionOf(options);
  const page = { ...selected, resolved: false, below_id: null, limit: options.limit };
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
    row.completed_at!.toISOString(),
    row.email,
    row.model_id,
    row.upstream,
    row.error_code!,
    formatUsd(row.quoted_usd_micro),
  ]);
  const head = ['REQUEST ID', 'ENDED', 'ACCOUNT', 'MODEL', 'UPSTREAM', 'WHY', 'QUOTED USD'];
  const told = by_upstream.map((sum) => [sum.upstream, String(sum.count), sum.oldest_at]);
  const lines = [table(['UPSTREAM', 'UNKNOWN', 'OLDEST'], told), '', table(head, cells)];
  print(context, { by_upstream, data }, lines.join('\n'));
}

interface Found extends Required<Selected> {
  outcome: string;
  costUsd?: string;
  note?: string;
}

export async function resolve(context: Context, options: Found): Promise<void> {
  const { outcome, costUsd, note = null } = options;
  if (outcome !== 'ran' && outcome !== 'did_not_run')
    throw new Refused(`--outcome is ran or did_not_run, not "${outcome}".`);
  if ((outcome === 'ran') !== (costUsd !== undefined))
    throw new Refused('Give --cost-usd, what each request cost you, with --outcome ran only.');
  const cost = costUsd === undefined ? 0n : usd(costUsd);
  if (cost > costMaxUsdMicro)
    throw new Refused(`--cost-usd is at most ${formatUsd(costMaxUsdMicro)}.`);
  const selected = selectionOf(options);
  const done = await withDatabase(context, (db) =>
    resolveOutcomes(db, commandLine, selected, { outcome, cost, note }),
  );
  const more = done.is_all ? '' : ` More are left: ${resolvedMax} are resolved at a time.`;
  print(context, done, `${counted(done.resolved, 'request')} resolved.${more}`);
}

function selectionOf({ upstream, since }: Selected): resolutions.Selection {
  if (since === undefined) return { upstream: upstream ?? null, since: null };
  const moment = momentOf(/^\d{4}-\d{2}-\d{2}$/.test(since) ? `${since}T00:00Z` : since);
  if (moment !== null) return { upstream: upstream ?? null, since: moment };
  throw new Refused(`"${since}" is no time, such as 2027-01-31 or 2027-01-31T12:00:00Z.`);
}
