import { isStandby } from '../db/installation.ts';
import type { AuditReport } from '../ledger/audit.ts';
import type { Database } from '../lib/sql/sql.ts';
import { auditAll, auditNews, compareWith, findHead, type Audit } from '../operations/audit.ts';
import { mend, type MendedCounter } from '../operations/mend.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { withDatabase } from './database.ts';
import { countText, type Context, type CommandOutput } from './output.ts';

interface AuditInput {
  full?: boolean;
  head?: boolean;
  since?: string;
  mend?: boolean;
}

export async function auditBooks(given: AuditInput, context: Context): Promise<CommandOutput> {
  const asked = (['full', 'head', 'since', 'mend'] as const).filter((name) => given[name]);
  if (asked.length > 1) throw new CommandFailed(`Give only one of --${asked.join(', --')}.`);
  return withDatabase(context, async (db) => {
    if (given.head) return showHead(db);
    if (given.since !== undefined) return compare(db, given.since);
    if (given.mend) return mended(db);
    if (given.full) return outputOf(await auditAll(db));
    await demandWritable(db);
    const days = context.config.FAREBOX_PROOF_DAYS;
    return newsOutput((await auditNews(db, { days, waits: true }))!);
  });
}

/** The usual audit writes down how far it came. */
async function demandWritable(db: Database): Promise<void> {
  if (await isStandby(db))
    throw new CommandFailed('This database is a standby. Run farebox audit --full on it.');
}

function newsOutput({ report, sealed, isBehind, isAhead, whole_at }: Audit): CommandOutput {
  const sealed_to = sealed && sealed.head;
  const more = [
    ...(sealed_to ? [`Sealed up to ${sealed_to}.`] : []),
    ...(isBehind
      ? ['Not all that is new was proved. Run it again, or let the service go on.']
      : []),
    ...(isAhead ? [clockWentBack] : []),
    ...(report.ok ? [wholeSince(whole_at)] : []),
  ];
  const output = outputOf(
    report,
    more,
    isBehind ? 'All that was read balances' : 'The books balance',
  );
  return { ...output, json: { ...output.json, sealed_to, is_behind: isBehind, whole_at } };
}

function wholeSince(at: Date | null): string {
  return at === null
    ? 'All history was not proved yet: the first round goes on.'
    : `All history was proved since ${at.toISOString()}.`;
}

const clockWentBack =
  "The newest seals are of a time that has not come yet: the database's clock went back. Set the clock right; seals keep their order.";

async function mended(db: Database): Promise<CommandOutput> {
  const { report, mended } = await mend(db);
  const output = outputOf(report);
  const text = [...mended.map(changed), output.text].join('\n');
  return { ...output, json: { ...report, mended }, text };
}

async function showHead(db: Database): Promise<CommandOutput> {
  const head = await findHead(db);
  return { json: head, text: head.head };
}

async function compare(db: Database, text: string): Promise<CommandOutput> {
  const head = text.trim();
  const { number, newest, ...found } = await compareWith(db, head);
  const { head_is_known, violations } = found;
  const ok = head_is_known && violations.length === 0;
  const lines = [
    `History below ${head} was CHANGED.`,
    ...(head_is_known ? [] : [strange(number, newest)]),
    ...violations.map((row) => `  ${JSON.stringify(row, plain)}`),
    findTheCause,
  ];
  return {
    json: { ok, head, ...found },
    text: ok ? `Nothing below ${head} was changed.` : lines.join('\n'),
    exit: ok ? 0 : 1,
  };
}

function strange(number: bigint, newest: bigint): string {
  const why =
    newest < number
      ? `This database has only ${newest} heads: it was restored from a backup that is older than the head, or its newest seals were removed.`
      : `Head ${number} of this database is another one: transfers and their seals were rewritten, or the database was restored from a backup that is older than the head.`;
  return `${why} Compare it with a head from before the backup.`;
}

const plain = (_name: string, value: unknown) =>
  typeof value === 'bigint' ? String(value) : value;

function outputOf(
  report: AuditReport,
  more: string[] = [],
  praise = 'The books balance',
): CommandOutput {
  return {
    json: report,
    text: [...verdict(report, praise), ...more].join('\n'),
    exit: report.ok ? 0 : 1,
  };
}

function verdict(report: AuditReport, praise: string): string[] {
  const { laws, accounts, transfers, requests } = report.checked;
  const proved = `${laws} laws over ${countText(accounts, 'account')}, ${countText(transfers, 'transfer')} and ${countText(requests, 'request')}`;
  if (report.ok) return [`${praise}: ${proved}.`];
  return [
    `The books do NOT balance (${proved}).`,
    ...report.violations.flatMap(({ law, says, found }) => [
      `broken: ${law}: ${says}`,
      ...found.map((row) => `  ${JSON.stringify(row)}`),
    ]),
    report.mendable ? mendIt : findTheCause,
  ];
}

const mendIt =
  'Only counters are wrong, no money. To compute them again, run: farebox audit --mend';
const findTheCause =
  'More than a counter is wrong, so no command corrects it. Stop the service, keep the database as it is, and find the cause.';

function changed({ account_id, key_id, counter, was, is }: MendedCounter): string {
  const whose = key_id === null ? `account ${account_id}` : `key ${key_id}`;
  return `Mended ${counter} of ${whose}: was ${was}, is ${is}.`;
}
