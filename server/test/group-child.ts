/**
 * Runs test files in this process, one after the other, each as a suite of its name:
 *
 *   node server/test/group-child.ts [--fleet] [--slow=HOW] FILE …
 *
 * Hooks at the top of a file belong to its suite, so that one file's service has stopped when the
 * next one's starts.
 */
import path from 'node:path';
import { describe } from 'node:test';

// Imported before the files, so that its hook belongs to the whole process.
await import('./kit/at-end.ts');

// A file whose imports wait at their top would set its hooks for the whole process.
for (const file of process.argv.slice(2).filter((name) => !name.startsWith('--')))
  describe(file, () => import(path.resolve(file)));
