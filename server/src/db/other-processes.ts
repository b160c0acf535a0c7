import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from '../lib/sql/sql.ts';
import { listRegistered, listUnregistered, type OtherProcess } from './processes.ts';

/** Whether processes live that a migration would break. */

/** How often a process shows that it lives. */
export const beatMs = 10_000;
const lookMs = 250;
const shownMax = 10;

export interface Patience {
  /** A process without a sign of life for so long has ended. */
  lapseMs: number;
  /** Connections may stay open for so long after their process has ended. */
  closeMs: number;
}

export const usualPatience: Patience = { lapseMs: 3 * beatMs, closeMs: 2_000 };

export interface ProcessClaim {
  /** Lowest schema number of the code that may run afterwards. */
  schema: number;
  /** False: the database does not have the table of processes yet. */
  registers: boolean;
  /** Called once with a sentence, if it takes a while. */
  tell?: (sentence: string) => void;
}

/**
 * Returns the processes of earlier versions that are seen to live. Waits for those that may have
 * just ended: until they show a sign of life, or could have shown one. Only what changes meanwhile
 * counts, because a restored database has rows of processes that never used it, and the clock of a
 * standby that took over may be behind.
 */
export async function findLivingProcesses(
  db: Connection,
  { schema, registers, tell = () => {} }: ProcessClaim,
  { lapseMs, closeMs }: Patience = usualPatience,
): Promise<OtherProcess[]> {
  const first = new Map<string, string | null>();
  const begun = performance.now();
  for (;;) {
    const rows = registers ? await listRegistered(db, schema) : [];
    const found = [...rows, ...(await listUnregistered(db))];
    const watched = performance.now() - begun;
    const isFirst = first.size === 0;
    for (const { id, beat } of found) if (!first.has(id)) first.set(id, beat);
    const living = found.filter(({ id, beat }) =>
      beat === null ? watched >= closeMs : first.get(id) !== beat,
    );
    if (living.length > 0) return living;
    const unsure = found.filter(
      ({ beat, age_ms }) => beat === null || (age_ms < lapseMs && watched < lapseMs),
    );
    if (unsure.length === 0) return [];
    if (isFirst)
      tell(`Waiting up to ${lapseMs / 1000} s for a sign of life: ${namesOf(unsure).join('; ')}`);
    await pause(lookMs);
  }
}

export function refusalOf(others: OtherProcess[]): string {
  return [
    'Processes of an earlier version use this database:',
    ...namesOf(others).map((name) => `- ${name}`),
    'Stop them first: their version does not work with the new schema. If these are not ' +
      'processes of Farebox, run "farebox migrate --ignore-others".',
  ].join('\n');
}

function namesOf(others: OtherProcess[]): string[] {
  const names = others.slice(0, shownMax).map(({ says }) => says);
  if (others.length > shownMax) names.push(`and ${others.length - shownMax} more`);
  return names;
}
