#!/usr/bin/env node
import { buildProgram } from './program.ts';
import { endWith } from './failure.ts';

// A reader who has seen enough, such as `head`, is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

if (process.argv[2] === '__complete') {
  const { complete } = await import('./completions.ts');
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
