import { groups, isStored, readUsageBy, type Group } from '../../db/accounts/usage-sums.ts';
import { readWithin } from '../../lib/sql/time-limit.ts';
import { rollUpDays } from '../../operations/accounts/roll-up.ts';
import * as s from '../schemas/schema.ts';
import {
  daysMax,
  requirePeriod,
  requireSum,
  requireValues,
  usagePage,
  usagePageFrom,
} from '../usage-query.ts';
import { badField } from '../schemas/validate.ts';
import { operatorEndpoint } from '../endpoint.ts';

const UsageSum = s.namedObject('UsageSum', {
  day: s.nullable(s.text('The day (UTC) on which the requests ended; null if not by day.')),
  model_id: s.nullable(s.text()),
  account_id: s.nullable(s.id()),
  key_id: s.nullable(s.id()),
  completed: s.integer(),
  failed: s.integer('`FAILED`; cancelled requests are not counted.'),
  charged_usd_micro: s.signedMicroUsd(
    'Paid by the accounts, less the refunds booked in these days.',
  ),
  cost_usd_micro: s.microUsd('Paid to upstreams, as far as it is known.'),
});

const groupsRule = `one or more of ${groups.join(', ')}, with commas between`;

/** GET /operator/usage: sorted by the values of `by`: day, model, account, then key. */
export const list = operatorEndpoint(
  {
    query: s.form({
      by: s.text('One or more of `day`, `model`, `account` and `key`, with commas between.', {
        example: 'day,model',
        rule: groupsRule,
      }),
      ...usagePage,
    }),
    reply: s.pageOf(UsageSum),
  },
  async ({ query }, { db, settings }) => {
    const by = requireGroups(query.by);
    const period = requirePeriod(query, isStored(by) ? daysMax.stored : daysMax.read);
    const above = requireValues(query.cursor, by.length);
    if (isStored(by)) await rollUpDays(db);
    const asked = { by, ...period, above, limit: query.limit + 1 };
    const { usageSumMs } = settings.times;
    const rows = requireSum(await readWithin(db, usageSumMs, (tx) => readUsageBy(tx, asked)));
    return usagePageFrom(rows, query.limit, (row) => by.map((group) => row[fields[group]]));
  },
);

const fields = { day: 'day', model: 'model_id', account: 'account_id', key: 'key_id' } as const;

function requireGroups(given: string): Group[] {
  const wanted = given.split(',');
  const known = groups.filter((group) => wanted.includes(group));
  if (known.length === new Set(wanted).size) return known;
  throw badField('by', groupsRule, { one_of: groups });
}
