import {
  groups,
  isStored,
  usageBy,
  type Group,
  type UsageRow,
} from '../../../db/accounts/usage-sums.ts';
import { isCalendarDay } from '../../../lib/calendar-day.ts';
import { rollUpDays } from '../../../operations/accounts/roll-up.ts';
import {
  cursorRule,
  id,
  integer,
  microUsd,
  named,
  nullable,
  object,
  optional,
  pageOf,
  pageQuery,
  signedMicroUsd,
  text,
} from '../../schema.ts';
import { badField } from '../../validate.ts';
import { read } from './endpoint.ts';

const dayMs = 24 * 3600 * 1000;
const usualDays = 30;
/** Past days are summed up; for other groups every request of the period is read. */
const daysMax = { stored: 92, read: 31 };

const UsageSum = named(
  'UsageSum',
  object({
    day: nullable(text('The day (UTC) on which the requests ended; null if not by day.')),
    model_id: nullable(text()),
    account_id: nullable(id()),
    key_id: nullable(id()),
    completed: integer(),
    failed: integer('`FAILED` and `CANCELLED`.'),
    charged_usd_micro: signedMicroUsd(
      'Paid by the accounts, less the refunds booked in these days.',
    ),
    cost_usd_micro: microUsd('Paid to upstreams, as far as it is known.'),
  }),
);

const dayRule = 'a day from 1970 on, such as 2027-01-31';
const day = (description: string) =>
  text(description, { pattern: '^\\d{4}-\\d{2}-\\d{2}$', rule: dayRule });

/** GET /operator/usage: sorted by the values of `by`, in their order. */
export const list = read(
  {
    query: object({
      by: text('One or more of `day`, `model`, `account` and `key`, with commas between.'),
      from: optional(day('The first day (UTC). Default: 30 days before `to`.')),
      to: optional(day('The day after the last one. Default: tomorrow.')),
      limit: pageQuery(100, 1000).limit,
      cursor: optional(text('The `next_cursor` of the page before.', { maxLength: 2000 })),
    }),
    reply: pageOf(UsageSum),
  },
  async ({ query }, { db }) => {
    const by = groupsIn(query.by);
    const period = periodOf(query, isStored(by) ? daysMax.stored : daysMax.read);
    const above = query.cursor === undefined ? null : valuesIn(query.cursor, by.length);
    if (isStored(by)) await rollUpDays(db);
    const rows = await usageBy(db, { by, ...period, above, limit: query.limit + 1 });
    const data = rows.slice(0, query.limit);
    const last = data.at(-1);
    const next_cursor = last && rows.length > query.limit ? cursorOf(last, by) : null;
    return { data, next_cursor };
  },
);

const fields = { day: 'day', model: 'model_id', account: 'account_id', key: 'key_id' } as const;

function groupsIn(given: string): Group[] {
  const wanted = given.split(',');
  const known = groups.filter((group) => wanted.includes(group));
  if (known.length === new Set(wanted).size) return known;
  throw badField('by', `one or more of ${groups.join(', ')}, with commas between`, {
    one_of: groups,
  });
}

function periodOf(query: { from?: string; to?: string }, most: number) {
  const tomorrow = new Date(Date.now() + dayMs).toISOString().slice(0, 10);
  const to = dayIn('to', query.to) ?? tomorrow;
  const end = Date.parse(to);
  const from =
    dayIn('from', query.from) ?? new Date(end - usualDays * dayMs).toISOString().slice(0, 10);
  if (end - Date.parse(from) > most * dayMs)
    throw badField('from', `at most ${most} days before to, with these groups`, { maximum: most });
  return { from, to };
}

function dayIn(name: string, given: string | undefined): string | null {
  if (given === undefined) return null;
  if (isCalendarDay(given) && Date.parse(given) >= 0) return given;
  throw badField(name, dayRule);
}

function cursorOf(row: UsageRow, by: Group[]): string {
  const values = by.map((group) => row[fields[group]]);
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

function valuesIn(cursor: string, count: number): string[] {
  const values = parsed(Buffer.from(cursor, 'base64url').toString());
  const isText = (value: unknown): value is string =>
    typeof value === 'string' && !value.includes('\0');
  if (Array.isArray(values) && values.length === count && values.every(isText)) return values;
  throw badField('cursor', cursorRule);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
