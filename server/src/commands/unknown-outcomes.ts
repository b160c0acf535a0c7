import { costMaxUsdMicro } from '../core/price/cost.ts';
import { formatUsd } from '../core/price/money.ts';
import * as unknownOutcomes from '../db/requests/unknown-outcomes.ts';
import * as upstreamStates from '../db/upstreams/states.ts';
import { NewFinding } from '../http/schemas/operator.ts';
import * as s from '../http/schemas/schema.ts';
import { timeOfId } from '../lib/id.ts';
import { commandLine } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import {
  resolvedMax,
  resolveOutcomes,
  type Finding,
} from '../operations/upstreams/unknown-outcome.ts';
import { limitOf, may, row, says } from './command.ts';
import { act, withDatabase } from './database.ts';
import { definedNames } from './offline-check.ts';
import { countText, table, type TableColumns } from './output.ts';

const upstream = s.text('of one upstream', { word: 'name' });
const since = s.moment('only outcomes since this time');
const selected = {
  until: s.optional(s.moment('only outcomes before this time')),
  model: s.optional(s.text('of one model', { word: 'id' })),
};

/** The options that state an outcome. */
export const findingOptions = (cost: string) => ({
  outcome: says(NewFinding.outcome, 'whether it ran'),
  cost_usd: may(NewFinding.cost_usd_micro, cost),
  note: may(NewFinding.note, 'how you found out'),
});

export const verbs = {
  list: row(
    'count unknown outcomes by upstream, and list the newest',
    { upstream: s.optional(upstream), since: s.optional(since), ...selected, limit: limitOf(50) },
    async ({ limit, ...given }, context) => {
      const page = { ...selectionOf(given), resolved: false, below: null, limit };
      const [sums, rows] = await withDatabase(context, (db) =>
        Promise.all([
          unknownOutcomes.countUnknownByUpstream(db),
          unknownOutcomes.listEnded(db, page),
        ]),
      );
      const by_upstream = sums.map(({ upstream, count, oldest_id }) => {
        return { upstream, count, oldest_at: new Date(timeOfId(oldest_id)).toISOString() };
      });
      const data = rows.map(({ id: request_id, handle: _handle, ...row }) => {
        return { request_id, ...row };
      });
      const heads = { UPSTREAM: 'upstream', UNKNOWN: 'count', OLDEST: 'oldest_at' } as const;
      const text = `${table(by_upstream, heads)}\n\n${table(rows, columns)}`;
      return { json: { by_upstream, data }, text };
    },
  ),
  resolve: row(
    'note the same outcome for all unknown outcomes of an upstream since a time',
    {
      upstream: says(upstream, 'of this upstream'),
      since: says(since, 'only outcomes since this time, such as 2027-01-31T12:00:00Z'),
      ...selected,
      ...findingOptions('cost of each that ran'),
    },
    async (given, context) => {
      const { upstream } = given;
      const found = requireFinding(given);
      const defined = await definedNames(context.config);
      const json = await act(context, 'request.resolve_many', async (db) => {
        // Includes upstreams whose catalog file is gone, because their requests must still be
        // resolved.
        const known = await upstreamStates.readUpstreamStates(db, defined);
        const names = known.map(({ name }) => name);
        if (names.includes(upstream))
          return resolveOutcomes(db, commandLine, selectionOf(given), found);
        throw new CommandFailed(
          `There is no upstream "${upstream}"; there are ${names.join(', ')}.`,
        );
      });
      const more = ` There are more: at most ${resolvedMax} are resolved at a time. Repeat the command.`;
      const text = `${countText(json.resolved, 'outcome')} resolved.${json.is_all ? '' : more}`;
      return { json, text };
    },
    {
      example: [
        'unknown resolve --upstream openai --since 2027-01-31T12:00Z --outcome did_not_run',
        'repeating it changes nothing',
      ],
    },
  ),
};

const columns: TableColumns<unknownOutcomes.UnknownRow> = {
  'REQUEST ID': 'id',
  ENDED: (row) => row.left_at ?? row.completed_at,
  ACCOUNT: 'email',
  MODEL: 'model_id',
  UPSTREAM: 'upstream',
  WHY: (row) => (row.left_at === null ? row.error_code : `left (attempt ${row.attempt})`),
  'QUOTED USD': 'quoted_usd_micro',
};

export function requireFinding(given: {
  outcome: 'ran' | 'did_not_run';
  cost_usd?: string | null;
  note?: string | null;
}): Finding {
  const { outcome, cost_usd = null, note = null } = given;
  if ((outcome === 'ran') !== (cost_usd !== null))
    throw new CommandFailed(
      '--outcome ran needs --cost-usd, your cost; --outcome did_not_run takes none.',
    );
  const cost = BigInt(cost_usd ?? 0);
  if (cost > costMaxUsdMicro)
    throw new CommandFailed(`--cost-usd must be at most ${formatUsd(costMaxUsdMicro)}.`);
  return { outcome, cost, note };
}

function selectionOf(given: {
  upstream?: string;
  since?: string;
  until?: string;
  model?: string;
}): unknownOutcomes.Selection {
  const { upstream = null, since, until, model = null } = given;
  const dateOf = (time: string | undefined) => (time === undefined ? null : new Date(time));
  return { upstream, since: dateOf(since), until: dateOf(until), model };
}
