import { runCommand } from './commands/program.ts';

process.exitCode = await runCommand(process.argv.slice(2), {
  out: (text) => console.log(text),
  err: (text) => console.error(text),
  screen: process.stdout.isTTY ? untilLeft : undefined,
});

function untilLeft(): AbortSignal {
  const left = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => left.abort());
  return left.signal;
}
