#!/usr/bin/env node
import { buildProgram } from './program.ts';
import { exits } from './exits.ts';
import { endWith } from './failure.ts';
import { tell } from './terminal/terminal.ts';

let unwritten: Error | undefined;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as `head` that closes the pipe early is not an error.
    if (error.code === 'EPIPE') process.exit(0);
    // The work in progress is finished, because it may be paid for.
    unwritten ??= error;
  });
}
process.once('exit', (code) => {
  if (!unwritten || code !== exits.done) return;
  process.exitCode = exits.failed;
  tell(`Nothing more can be written to stdout: ${unwritten.message}.`);
});

if (process.argv[2] === '__complete') {
  const { complete } = await import('./help/completions.ts');
  for (const word of await complete(buildProgram(), process.argv.slice(3))) {
    process.stdout.write(`${word}\n`);
  }
} else {
  try {
    await buildProgram().parseAsync();
  } catch (error) {
    process.exitCode = await endWith(error);
  }
}
