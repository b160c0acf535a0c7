import { runCommand } from './commands/program.ts';

process.exitCode = await runCommand(process.argv.slice(2), {
  out: (text) => console.log(text),
  err: (text) => console.error(text),
});
