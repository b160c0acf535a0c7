import { proveBooks } from '../server/src/ledger/audit.ts';
import { runLongTransaction } from '../server/src/lib/sql/long-transaction.ts';
import { rawSql } from '../server/src/lib/sql/sql.ts';
import { auditNews } from '../server/src/operations/audit.ts';
import { cpuSeconds } from './cpu.ts';
import { longFolder } from './growth.ts';
import { fill } from './history-fill.ts';
import type { Question, Row } from './run.ts';
import { openBench, type Bench } from './service.ts';

/** Measures audits beside a long history, which is kept for the next run. */

const partsADay = 96;

const question: Question = {
  asks: 'how long does an audit take beside a long history (--requests N, kept between runs)?',
  async measure(_bench, { requests }) {
    const settings = { shared_buffers: '1GB', max_wal_size: '4GB' };
    const bench = await openBench(settings, longFolder(requests));
    try {
      await fill(bench.db, requests, (done) => console.log(`${done} requests`));
      return await measured(bench);
    } finally {
      await bench.stop();
    }
  },
};
export default question;

async function measured(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  const timed = async (what: string, work: () => Promise<unknown>, times = 1) => {
    const [cpu, own, began] = [
      cpuSeconds(bench.databasePid),
      process.cpuUsage(),
      performance.now(),
    ];
    await work();
    const { user, system } = process.cpuUsage(own);
    const spent = cpuSeconds(bench.databasePid) - cpu + (user + system) / 1e6;
    const row = { what, seconds: round((performance.now() - began) / 1000), cpu: round(spent) };
    rows.push({ ...row, 'of a core, %': times > 1 ? round((spent * times) / 864) : '' });
  };
  await timed('sealing what is old, in all parts', () => sealAll(bench));
  await timed('what is new since the seals, and one part', () => audit(bench, 15), partsADay);
  await timed('the next part', () => audit(bench, 15), partsADay);
  await timed('the next part', () => audit(bench, 15), partsADay);
  await timed('everything', () =>
    runLongTransaction(bench.db, 'isolation level repeatable read read only', proveBooks),
  );
  return rows;
}

const round = (value: number) => Math.round(value * 100) / 100;

/** Audits as the service does so many minutes after its audit before. */
async function audit({ db }: Bench, minutes: number): Promise<boolean> {
  await db.run(
    rawSql(`update audit_progress set part_at = now() - $1 * interval '1 minute'`, [minutes]),
  );
  const made = (await auditNews(db, { days: 1 }))!;
  if (!made.report.ok) throw new Error(JSON.stringify(made.report.violations));
  return made.isBehind;
}

async function sealAll(bench: Bench): Promise<void> {
  let parts = 1;
  while (await audit(bench, 0)) parts++;
  console.log(`${parts} audits until everything was sealed`);
}
