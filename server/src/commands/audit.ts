import { audit } from '../ledger/audit.ts';
import { counted, print, withDatabase, type Context } from './output.ts';

export async function auditBooks(context: Context): Promise<number> {
  const report = await withDatabase(context, (db) => audit(db));
  const { laws, accounts, transfers, requests } = report.checked;
  const proved = `${laws} laws over ${counted(accounts, 'account')}, ${counted(transfers, 'transfer')} and ${counted(requests, 'request')}`;
  const lines = report.violations.flatMap(({ law, says, found }) => [
    `broken: ${law}: ${says}`,
    ...found.map((row) => `  ${JSON.stringify(row)}`),
  ]);
  print(
    context,
    report,
    report.ok
      ? `The books balance: ${proved}.`
      : [`The books do NOT balance (${proved}).`, ...lines].join('\n'),
  );
  return report.ok ? 0 : 1;
}
