import { pgbouncer } from '../kit/pgbouncer.ts';
import { haPrograms } from './ha.ts';
import { chaos, isOfCluster, type ChaosReport, type Fault } from './harness.ts';

/** A fault against running processes. */
export interface Scene {
  /** In two minutes at most; null: only the long form says something. */
  short: Play | null;
  /** In an hour at most. */
  long: Play;
}

/** Resolves with null and the program's name if a program is missing here. */
type Play = (options: { seed: number; log: (line: string) => void }) => Promise<SceneOutcome>;

export interface SceneOutcome {
  /** The counts that were measured. */
  figure: string;
  /** Violations of the promise, and dangerous paths that were never reached. */
  violations: string[];
  /** A program that is not there, so that nothing was played. */
  missing?: string;
}

type Count = 'fenced' | 'lostCommits' | 'lostAnswers' | 'repeats' | 'callerRetries';

interface Load {
  faults: Fault[];
  /** The number of faults in each form; none in the short form: only the long one is played. */
  rounds: { short: number | null; long: number };
  /** Dangers that a run must have met, or it proves nothing. */
  met?: Count[];
  pauseMs?: number;
  standby?: boolean;
}

const upstreamFaults = { lose: 0.05, hang: 0.02, fail: 0.03, refuse: 0.03 };

/** Faults one after the other, while callers submit to three processes. */
export function underLoad(load: Load): Scene {
  const { short, long } = load.rounds;
  return {
    short: short === null ? null : (options) => playLoad(load, { ...options, rounds: short }),
    long: (options) => playLoad(load, { ...options, rounds: long, submitters: 16 }),
  };
}

interface LoadOptions {
  seed: number;
  log: (line: string) => void;
  rounds: number;
  submitters?: number;
}

async function playLoad(
  { faults, met = [], pauseMs = 500, standby = false }: Load,
  { submitters = 8, ...options }: LoadOptions,
): Promise<SceneOutcome> {
  const pooler = faults.includes('restart_pooler') ? await pgbouncer() : undefined;
  if (pooler === null) return { figure: '', violations: [], missing: 'pgbouncer' };
  const programs = faults.some(isOfCluster) ? await haPrograms() : undefined;
  if (programs && 'missing' in programs) return { figure: '', violations: [], ...programs };
  const told = { ...options, faults, pauseMs, submitters, standby, upstreamFaults };
  const more = { ...(pooler && { pooler }), ...(programs && { cluster: programs.folders }) };
  const report = await chaos({ ...told, ...more });
  const unmet = met.filter((count) => report[count] === 0);
  return {
    figure: figureOf(report),
    violations: [...report.violations, ...unmet.map((count) => `met nothing of: ${count}`)],
  };
}

function figureOf(report: ChaosReport): string {
  const { faults, submitted, completed, failed, unknown, fenced, lostCommits } = report;
  const { callerRetries, longestPauseMs, growthMbHour, violations, pauses } = report;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const waits = pauses.map(({ fault, ms }) => `${fault.replace('_', ' ')} ${seconds(ms)}`);
  return [
    `${faults} faults, ${submitted} requests, ${violations.length} violations`,
    `${completed} completed, ${failed} failed (${unknown} of unknown outcome)`,
    `${callerRetries} calls repeated, ${fenced} late writes refused, ${lostCommits} commits unanswered`,
    `${report.acknowledged} submits acknowledged, ${report.lost} of them lost`,
    `longest time without an accepted submit ${seconds(longestPauseMs)}${waits.length > 0 ? ` (${waits.join(', ')})` : ''}`,
    ...(growthMbHour === null ? [] : [`memory ${growthMbHour} MB an hour`]),
  ].join('; ');
}

/** Several runs of one scene, because one run can have only one failover. */
export function repeated(scene: Scene, times: number): Scene {
  const long: Play = async ({ seed, log }) => {
    const runs: SceneOutcome[] = [];
    for (let n = 0; n < times; n++) runs.push(await scene.short!({ seed: seed + n, log }));
    return {
      figure: runs.map(({ figure }, n) => `run ${n + 1}: ${figure}`).join('. '),
      violations: runs.flatMap(({ violations }) => violations),
    };
  };
  return { short: scene.short, long };
}

// The others are loaded when they are played, because they make their process one of tests.

/** Every moment between intent and settlement, with the real adapters; twice in the long form. */
export const everyMoment: Scene = {
  short: null,
  async long({ seed, log }) {
    const { allScenes, chaosOfAdapters } = await import('./adapters.ts');
    const scenes = [...allScenes(false), ...allScenes(true)];
    const { violations, ...report } = await chaosOfAdapters({ seed, scenes, loopMs: 10_000, log });
    return { figure: wordsOf(report), violations };
  },
};

export const depositsUnderKills: Scene = {
  short: null,
  async long({ seed, log }) {
    const { chaosOfDeposits } = await import('./deposits.ts');
    const { violations, ...report } = await chaosOfDeposits({
      seed,
      deposits: 500,
      kills: 60,
      log,
    });
    return { figure: wordsOf({ ...report, ...report.kills }), violations };
  },
};

const outage =
  (outageSeconds: number, calmSeconds: number, submitters: number): Play =>
  async ({ log }) => {
    const { storageOutage } = await import('./storage.ts');
    const options = { outageSeconds, calmSeconds, submitters, log };
    const { violations, chats, ...report } = await storageOutage(options);
    return { figure: `${wordsOf(report)}, chats ok ${chats.ok}`, violations };
  };

export const storageAway: Scene = { short: outage(15, 3, 4), long: outage(300, 20, 8) };

/** The numbers of a report with their names. */
function wordsOf(report: object): string {
  return Object.entries(report)
    .filter(([name, value]) => typeof value === 'number' && name !== 'seed')
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)
    .join(', ');
}
