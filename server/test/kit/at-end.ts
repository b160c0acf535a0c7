import { after } from 'node:test';

/** Resources shared by the test files of a process are closed after the last of them. */
const closings: (() => Promise<void>)[] = [];

export function atEnd(close: () => Promise<void>): void {
  closings.push(close);
}

// Belongs to the whole process, because `group-child.ts` imports this before any test file.
after(async () => {
  for (const close of closings.toReversed()) await close();
});
