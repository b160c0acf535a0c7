import { after } from 'node:test';

/** Resources shared by the test files of a process are closed after the last of them. */
const closings: (() => Promise<void>)[] = [];
/** Everything is closed long before. */
const closeMaxMs = 60_000;

export function atEnd(close: () => Promise<void>): void {
  closings.push(close);
}

// Belongs to the whole process, because `group-child.ts` imports this before any test file.
after(async () => {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ');
    console.error(`still open ${closeMaxMs / 1000} s after the last test: ${open}`);
    process.exit(1);
  }, closeMaxMs).unref();
  for (const close of closings.toReversed()) await close();
});
