import { parseArgs } from 'node:util';
import { allScenes, chaosOfAdapters } from './adapters.ts';
import { chaos, faults, type Fault } from './harness.ts';
import { chaosOfDeposits } from './deposits.ts';
import { storageOutage } from './storage.ts';

/**
 * The long form of the fault tests: `npm run chaos [-- --rounds N --seed N --fault NAME]`. Prints
 * a line for each fault, and the counts of the three journals at the end. Exits 1 if they disagree.
 */
const { values } = parseArgs({
  options: {
    adapters: { type: 'boolean', default: false },
    storage: { type: 'boolean', default: false },
    deposits: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '300' },
    rounds: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    fault: { type: 'string', multiple: true },
    point: { type: 'string', multiple: true },
    help: { type: 'boolean', default: false },
  },
});
const all: Fault[] = [
  'kill_worker',
  'kill_service',
  'stop_worker',
  'lose_commits',
  'kill_worker',
  'kill_postgres',
  'cut_line',
  'lose_commits',
  'hold_line',
  'kill_worker',
  'deafen_line',
];
const help = `npm run chaos -- [--rounds N] [--seed N] [--fault NAME]…
    Kills and stops processes of a service under load, and breaks their lines to PostgreSQL; N faults, 200 if not said.
    NAME is one of ${faults.join(', ')}.
npm run chaos -- --storage [--seconds N]
    Takes the storage away for N seconds under load, 300 if not said.
npm run chaos -- --deposits [--rounds N] [--seed N]
    Kills services, workers and PostgreSQL, N times, 12 if not said, while 500 deposits come in.
npm run chaos -- --adapters [--rounds N] [--seed N] [--point TEXT]…
    Kills the service with its real adapters in each moment between intent and settlement, and at random; the upstreams
    are local stand-ins. A round goes through every moment, every second one with upstreams that call back; N rounds, 2
    if not said. TEXT is a part of a moment's name:
${allScenes(false)
  .map(({ point }) => `      ${point}`)
  .join('\n')}`;
const log = (line: string) => console.log(line);
if (values.help) console.log(help);
else if (values.deposits)
  show(
    await chaosOfDeposits({
      seed: Number(values.seed),
      deposits: 500,
      kills: Number(values.rounds ?? 12),
      log,
    }),
  );
else if (values.adapters) show(await adapters());
else if (values.storage) {
  const outageSeconds = Number(values.seconds);
  show(await storageOutage({ outageSeconds, calmSeconds: 20, submitters: 8, log }));
} else {
  const report = await chaos({
    seed: Number(values.seed),
    faults: (values.fault as Fault[] | undefined) ?? all,
    rounds: Number(values.rounds ?? 200),
    pauseMs: 500,
    submitters: 16,
    upstreamFaults: { lose: 0.05, hang: 0.02, fail: 0.03, refuse: 0.03 },
    log,
  });
  show(report);
}

function adapters() {
  const wanted = ({ point }: { point: string }) =>
    values.point?.some((part) => point.includes(part)) ?? true;
  const scenes = Array.from({ length: Number(values.rounds ?? 2) }, (_, i) =>
    allScenes(i % 2 === 1).filter(wanted),
  );
  return chaosOfAdapters({ seed: Number(values.seed), scenes: scenes.flat(), loopMs: 10_000, log });
}

function show({ violations, ...figures }: { violations: string[] }): void {
  console.log(JSON.stringify(figures, null, 2));
  if (violations.length === 0) return;
  console.log(violations.join('\n'));
  process.exitCode = 1;
}
