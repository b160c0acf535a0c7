/**
 * Runs `fare` from its source for a test process, one command after the other, to save the starts
 * of Node. Each command has its own arguments, environment, folder, stdin and outputs.
 */
import { Readable, Writable } from 'node:stream';
import { endWith } from '../../src/cli/failure.ts';
import { buildProgram } from '../../src/cli/program.ts';

export interface Command {
  args: string[];
  env: Record<string, string | undefined>;
  dir: string;
  /** The bytes as Latin-1. */
  stdin: string;
}

export interface ProcessResult {
  code: number;
  stdout: string;
  stderr: string;
}

function set(name: 'stdin' | 'stdout' | 'stderr', value: Readable | Writable): void {
  Object.defineProperty(process, name, { value, configurable: true });
}

/** Collects an output of this process. The returned function restores it and returns the text. */
function collected(name: 'stdout' | 'stderr'): () => string {
  const parts: Buffer[] = [];
  const write = (part: Buffer, _encoding: unknown, done: () => void) => {
    parts.push(part);
    done();
  };
  set(name, new Writable({ write }));
  return () => Buffer.concat(parts).toString();
}

async function run({ args, env, dir, stdin }: Command): Promise<ProcessResult> {
  process.chdir(dir);
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(env))
    if (value !== undefined) process.env[name] = value;
  process.argv = [...process.argv.slice(0, 2), ...args];
  set(
    'stdin',
    Readable.from(stdin === '' ? [] : [Buffer.from(stdin, 'latin1')], { objectMode: false }),
  );
  const [stdout, stderr] = [collected('stdout'), collected('stderr')];
  const code = await buildProgram()
    .parseAsync()
    .then(() => 0, endWith);
  return { code, stdout: stdout(), stderr: stderr() };
}

process.on('message', async (command: Command) => process.send!(await run(command)));
