import { metadataAsked, nameAsked } from '../../core/request/metadata.ts';
import {
  canBeStored,
  readUsageOf,
  type AccountGroups,
  type AccountUsageQuery,
  type AccountUsageRow,
} from '../../db/accounts/usage-sums.ts';
import { objectOf } from '../../lib/json.ts';
import { readWithin } from '../../lib/sql/time-limit.ts';
import { rollUpUsage } from '../../operations/accounts/roll-up.ts';
import { runSum } from '../database-share.ts';
import type { CallDeps, ShareDeps } from '../deps.ts';
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
import { keyedEndpoint } from '../endpoint.ts';
import { metadataQuery } from '../requests/list.ts';

/** Limit of metadata names in `by`: each name multiplies the number of groups. */
const namesMax = 2;

const UsageLine = s.namedObject('UsageLine', {
  day: s.nullable(s.text('The day (UTC) on which the requests ended; null if not by day.')),
  model_id: s.nullable(s.text('Null if not by model.')),
  key_id: s.nullable(s.id('Null if not by key.')),
  person_id: s.nullable(
    s.id('The person who was signed in; null for programs with a key, and if not by person.'),
  ),
  metadata: s.record(
    s.nullable(s.text()),
    'The values of the names in `by`; null where a request has no such name.',
  ),
  requests: s.integer('Requests that ended; cancelled ones are not counted.'),
  completed: s.integer('`COMPLETED`.'),
  failed: s.integer('`FAILED`.'),
  charged_usd_micro: s.signedMicroUsd('Charged, less the refunds booked in these days.'),
  input_tokens: s.integer('Tokens that chats read.'),
  output_tokens: s.integer('Tokens that chats wrote.'),
  cached_tokens: s.integer('The part of `input_tokens` that was read from a cache.'),
  reasoning_tokens: s.integer('The part of `output_tokens` that was reasoning.'),
});

const groups = ['day', 'model', 'key', 'person'] as const;
const groupsRule = `one or more of ${groups.join(', ')} and metadata.NAME, with commas between, and at most ${namesMax} names`;

const UsageQuery = s.form({
  by: s.text(
    'One or more of `day`, `model`, `key`, `person` and `metadata.NAME`, with commas between; at most ' +
      `${namesMax} names, none with a comma.`,
    { maxLength: 500, example: 'day,model', rule: groupsRule },
  ),
  model_id: s.optional(s.text('Only requests of this model.', { minLength: 1, maxLength: 300 })),
  key_id: s.optional(s.id('Only requests made with this key.')),
  ...usagePage,
});

/** GET /usage: sorted by the values of `by`: day, model, key, person, then metadata. */
export const usage = keyedEndpoint(
  { query: UsageQuery, rawQuery: metadataQuery, reply: s.pageOf(UsageLine) },
  async ({ req, reply, query }, deps: ShareDeps) => {
    const { by, names } = requireGroups(query.by);
    const { account_id } = req.caller;
    const asked = {
      account_id,
      by,
      names,
      ...requirePeriod(query, daysMax.read),
      model_id: query.model_id ?? null,
      key_id: query.key_id ?? null,
      metadata: metadataAsked(objectOf(req.query)),
      above: requireValues(query.cursor, by.length + names.length),
      limit: query.limit + 1,
    };
    const rows = await runSum(req, reply, deps, () => sumUp(deps, asked));
    const lines = rows.map((row) => ({ ...row, requests: row.completed + row.failed }));
    return usagePageFrom(lines, query.limit, (line) => [
      ...by.map((group) => line[fields[group]]),
      ...names.map((name) => line.metadata[name] ?? null),
    ]);
  },
);

/** Throws `bad_request` if the sum takes too long. */
async function sumUp(
  { db, settings }: CallDeps,
  query: Omit<AccountUsageQuery, 'isStored'>,
): Promise<AccountUsageRow[]> {
  const { usageSumMs } = settings.times;
  const isStored = canBeStored(query, Date.now());
  return requireSum(
    (!isStored || (await rollUpUsage(db, query.account_id, query, usageSumMs))) &&
      (await readWithin(db, usageSumMs, (tx) => readUsageOf(tx, { ...query, isStored }))),
  );
}

const fields = {
  day: 'day',
  model: 'model_id',
  key: 'key_id',
  person: 'person_id',
} as const;

function requireGroups(given: string): AccountGroups {
  const wanted = [...new Set(given.split(','))];
  const by = groups.filter((group) => wanted.includes(group));
  const names = wanted.flatMap((group) => nameAsked(group) ?? []);
  if (by.length + names.length === wanted.length && names.length <= namesMax) return { by, names };
  throw badField('by', groupsRule, { one_of: [...groups, 'metadata.NAME'] });
}
