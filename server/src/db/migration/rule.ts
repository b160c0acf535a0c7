import { stepsOf, type MigrationStep } from './steps.ts';

/** Which versions of the code may run on which schema. */

/** The newest migration of each release, from the first that an upgrade starts from. */
export const releases: Record<string, number> = { '0.2.0': 47 };

/**
 * Earlier migrations serve only code that knows them, and are one transaction each. Later ones run
 * beside the version before, statement by statement.
 */
export const firstBeside = 64;

const marker = /^-- contract: since (\S+)$/m;

/**
 * Lowest schema number of the code that may run once the migration has begun; 0: any that may run
 * without it.
 */
export function breaksBefore({ number, text }: { number: number; text: string }): number {
  if (number < firstBeside) return number;
  const [, release] = marker.exec(text) ?? [];
  return release === undefined ? 0 : (releases[release] ?? number);
}

/** Why a migration cannot run beside the version before; empty if it can. */
export function faultsOf(number: number, text: string, lawful: ReadonlySet<string>): string[] {
  if (number < firstBeside) return [];
  const [, release] = marker.exec(text) ?? [];
  const faults = stepsOf(text).flatMap((step) => {
    const start = step.statement.slice(0, 60).replace(/\s+/g, ' ');
    if (step.instead) return [`"${start}" stops calls; write ${step.instead}`];
    const contract = step.contract ?? breaksLaw(step, lawful);
    return contract && release === undefined
      ? [
          `"${start}": ${contract}. Let it wait for a later release, with the line ` +
            '"-- contract: since RELEASE": the release whose code no longer needs it',
        ]
      : [];
  });
  if (release !== undefined && releases[release] === undefined)
    faults.push(`there is no release ${release}: ${Object.keys(releases).join(', ')}`);
  return faults;
}

/** An audit by code of the version before misses a law that was changed. */
function breaksLaw({ statement }: MigrationStep, lawful: ReadonlySet<string>): string | undefined {
  const names = [...statement.matchAll(/\b(?:drop|rename) constraint (\w+)/gi)];
  return names.some(([, name]) => lawful.has(name!))
    ? 'audits by code of the version before miss this law'
    : undefined;
}
