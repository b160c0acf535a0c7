import { audit } from '../../src/ledger/audit.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import type { TrackedRequest, World } from './adapter-world.ts';

/** Compares the three journals: the jobs that upstreams accepted, the rows, the books. */

export interface Fact {
  id: string;
  status: string;
  attempt: number;
  charged: bigint | null;
  error_code: string | null;
  held: boolean;
  /** True if an intent is committed. */
  begun: boolean;
  /** True if the upstream's id of the job is committed. */
  handle: boolean;
  attempts: unknown;
  /** `reserve 10000, charge 10000` */
  money: string;
  outputs: number;
  /** The number of stored files of its outputs. */
  stored(id: string): number;
}

export type End = 'COMPLETED' | 'CANCELLED' | 'outcome_unknown' | 'upstream_failed';

export function jobsOf({ place, tag }: TrackedRequest) {
  return place.door.jobsOf(tag);
}

export function classOf({ place: { rig }, callbacks }: TrackedRequest): 'A' | 'B' | 'C' | 'C+' {
  return rig.class === 'C' && rig.callsBack && callbacks ? 'C+' : rig.class;
}

/** The end that a request must have, according to its committed state while no process runs. */
export function endOf(tracked: TrackedRequest, { begun, handle, status, error_code }: Fact): End {
  if (!begun || handle) return 'COMPLETED';
  if (status === 'FAILED' && error_code === 'outcome_unknown') return 'outcome_unknown';
  const kind = classOf(tracked);
  if (kind === 'A' || kind === 'B') return 'COMPLETED';
  return kind === 'C+' && jobsOf(tracked).length > 0 ? 'COMPLETED' : 'outcome_unknown';
}

export async function factsOf(world: World, tracked: TrackedRequest[]): Promise<Map<string, Fact>> {
  const rows = await world.db.run<Omit<Fact, 'stored'>>(
    rawSql(
      `select r.id, r.status, r.attempt, r.charged_usd_micro as charged, r.error_code,
         r.slot or r.leased as held, a.attempts is not null as begun,
         coalesce(a.handle, false) as handle, a.attempts,
         (select string_agg(kind || ' ' || amount_usd_micro, ', ' order by seq) from transfers t
           where t.id = r.id or t.pending_id = r.id) as money,
         (select count(*)::int from outputs o where o.request_id = r.id) as outputs
       from requests r cross join lateral (
         select bool_or(handle is not null) as handle, json_agg(json_build_object('attempt', attempt,
           'class', class, 'outcome', outcome, 'handle', handle, 'message', message)
           order by attempt) as attempts
         from attempts where request_id = r.id) a
       where r.id = any($1::uuid[])`,
      [tracked.map(({ id }) => id)],
    ),
  );
  const stored = (id: string) => world.stored(id).length;
  return new Map(rows.map((row) => [row.id, { ...row, stored }]));
}

/** Violations of the laws, in words, for requests that had enough time to end. */
export async function compare(
  world: World,
  tracked: TrackedRequest[],
  ends: ReadonlyMap<string, End>,
): Promise<string[]> {
  const facts = await factsOf(world, tracked);
  const violations: string[] = [];
  for (const each of tracked) {
    const fact = facts.get(each.id);
    if (!fact) {
      violations.push(`${each.tag} was answered with ${each.id}, which has no row`);
      continue;
    }
    const wrong = wrongWith(each, fact, ends.get(each.id)!);
    if (fact.status === 'COMPLETED') {
      const read = await world.outputsOf(each.id);
      if (typeof read === 'string') wrong.push(read);
      else if (read.length !== fact.outputs || read.length === 0)
        wrong.push(`shows ${read.length} outputs and has ${fact.outputs}`);
    } else if (!(await world.cleared(each.id))) {
      wrong.push(`left ${fact.stored(each.id)} outputs behind`);
    }
    if (wrong.length > 0) violations.push(describe(each, fact, wrong));
  }
  return [...violations, ...world.refusedCalls(), ...(await booksOf(world))];
}

function wrongWith(each: TrackedRequest, fact: Fact, end: End): string[] {
  const { status, error_code, charged, money } = fact;
  const wrong: string[] = [];
  const jobs = jobsOf(each).length;
  const submits = each.place.door.submits.get(each.tag) ?? 0;
  const kind = classOf(each);
  if (jobs > 1) wrong.push(`was bought ${jobs} times`);
  if ((kind === 'C' || kind === 'C+') && submits > 1)
    wrong.push(`was submitted ${submits} times to an upstream that recognises no repeat`);
  const ended = status === 'COMPLETED' ? status : (error_code ?? status);
  if (ended !== end) wrong.push(`ended as ${ended}, not ${end}`);
  if (status === 'COMPLETED' || status === 'CANCELLED') {
    if (jobs !== 1) wrong.push(`ended as ${status} with ${jobs} jobs`);
    if (charged !== each.charge) wrong.push(`was charged ${charged}, not ${each.charge}`);
    if (!/^reserve \d+, charge \d+$/.test(money)) wrong.push(`moved "${money}"`);
  } else {
    if (charged !== 0n) wrong.push(`was charged ${charged}`);
    if (!/^reserve (\d+), release \1$/.test(money)) wrong.push(`moved "${money}"`);
  }
  if (fact.held) wrong.push('still has a place or a lease');
  return wrong;
}

/** Everything needed to understand a violation. */
function describe(each: TrackedRequest, fact: Fact, wrong: string[]): string {
  const { place, tag, id, point, callbacks } = each;
  const { status, attempt, charged, error_code, attempts, money } = fact;
  const row = { status, attempt, charged: String(charged), error_code, money };
  const submits = place.door.submits.get(tag) ?? 0;
  return [
    `request ${id} of ${place.rig.name} (class ${classOf(each)}${callbacks ? ', callbacks on' : ''})`,
    `killed "${point}": ${wrong.join('; ')}`,
    `row ${JSON.stringify(row)}`,
    `attempts ${JSON.stringify(attempts)}`,
    `read ${submits} submits, journal ${JSON.stringify(jobsOf(each))}`,
  ].join('\n    ');
}

async function booksOf({ db }: World): Promise<string[]> {
  const { violations } = await audit(db);
  const [left] = await db.run<{ pending: bigint; slots: bigint }>(
    rawSql(`select (select coalesce(sum(debits_pending), 0) from balances)::bigint as pending,
      (select count(*) from requests where slot) as slots`),
  );
  return [
    ...violations.map(({ law, found }) => `audit: ${law}: ${JSON.stringify(found)}`),
    ...(left!.pending === 0n ? [] : [`${left!.pending} micro-USD are still reserved`]),
    ...(left!.slots === 0n ? [] : [`${left!.slots} slots are still taken`]),
  ];
}
