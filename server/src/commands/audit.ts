import { audit, type AuditReport } from '../ledger/audit.ts';
import { mend, type Mended } from '../operations/mend.ts';
import { withDatabase } from './database.ts';
import { counted, type Context, type CommandOutput } from './output.ts';

export async function auditBooks(given: { mend?: boolean }, context: Context): Promise<Result> {
  const { report, mended } = await withDatabase(context, async (db) =>
    given.mend ? mend(db) : { report: await audit(db), mended: [] },
  );
  const json = { ...report, ...(given.mend && { mended }) };
  const text = [...mended.map(changed), ...verdict(report)].join('\n');
  return { json, text, exit: report.ok ? 0 : 1 };
}

function verdict(report: AuditReport): string[] {
  const { laws, accounts, transfers, requests } = report.checked;
  const proved = `${laws} laws over ${counted(accounts, 'account')}, ${counted(transfers, 'transfer')} and ${counted(requests, 'request')}`;
  if (report.ok) return [`The books balance: ${proved}.`];
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
