#!/usr/bin/env node
// The command of the package; in a clone it is there once `npm run build` or `npm start` has run.
import { existsSync } from 'node:fs';

const built = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(built)) await import(built.href);
else {
  process.stderr.write('fare is not built yet: run `npm run build` first.\n');
  process.exitCode = 1;
}
