import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { codeOf, fieldOf, messageOf } from '../unknown.ts';

/** PostgreSQL's own programs for backups. */

const run = promisify(execFile);
/** Limit of what a program says, in bytes. */
const maxBuffer = 1024 * 1024;

export type DumpProgram = 'pg_dump' | 'pg_restore';

export interface DumpAddress {
  /** The URL of a database. */
  url: string;
  /** The environment of the program. */
  env: NodeJS.ProcessEnv;
}

/** A program failed; the message is its own. */
export class ProgramFailed extends Error {}

/** The program's major version; null if it is not on the path. */
export async function majorOf(program: DumpProgram, env: NodeJS.ProcessEnv) {
  try {
    const { stdout } = await run(program, ['--version'], { env });
    return Number(/\d+/.exec(stdout)?.[0]);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Writes a database into a file that exists. Throws `ProgramFailed`. */
export function dump(address: DumpAddress, file: string): Promise<void> {
  return start('pg_dump', ['--format=custom', `--file=${file}`], address);
}

/** Restores all of a dump, or nothing. Throws `ProgramFailed`. */
export function restore(address: DumpAddress, file: string): Promise<void> {
  return start('pg_restore', ['--single-transaction', '--exit-on-error', file], address);
}

async function start(program: DumpProgram, args: string[], address: DumpAddress): Promise<void> {
  const url = new URL(address.url);
  // Other users of the machine see the arguments of a program, but not its environment.
  const env = {
    ...address.env,
    ...(url.password && { PGPASSWORD: decodeURIComponent(url.password) }),
  };
  url.password = '';
  const whose = ['--no-owner', '--no-privileges', '--no-password', `--dbname=${url.href}`];
  try {
    await run(program, [...whose, ...args], { env, maxBuffer });
  } catch (cause) {
    const said = String(fieldOf(cause, 'stderr') || messageOf(cause)).trim();
    throw new ProgramFailed(said, { cause });
  }
}
