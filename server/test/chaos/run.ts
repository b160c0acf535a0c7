import { parseArgs } from 'node:util';
import { chaos, type Fault } from './harness.ts';

/**
 * The long form of the fault tests: `npm run chaos [-- --rounds N --seed N --fault NAME]`. Prints one line a fault and
 * the three journals' figures at the end; exits 1 where they disagree.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    fault: { type: 'string', multiple: true },
    help: { type: 'boolean', default: false },
  },
});
const all: Fault[] = ['kill_worker', 'kill_service', 'stop_worker', 'kill_worker', 'kill_postgres'];
if (values.help) {
  console.log(`npm run chaos -- [--rounds N] [--seed N] [--fault ${[...new Set(all)].join('|')}]…`);
} else {
  const report = await chaos({
    seed: Number(values.seed),
    faults: (values.fault as Fault[] | undefined) ?? all,
    rounds: Number(values.rounds),
    pauseMs: 500,
    submitters: 16,
    upstreamFaults: { lose: 0.05, hang: 0.02, fail: 0.03, refuse: 0.03 },
    log: (line) => console.log(line),
  });
  console.log(JSON.stringify(report, null, 2));
  if (report.violations.length > 0) process.exitCode = 1;
}
