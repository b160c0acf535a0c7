/** Resources shared by the test files of a process are closed after the last of them. */
const closings: (() => Promise<void>)[] = [];

export function atEnd(close: () => Promise<void>): void {
  closings.push(close);
}

export async function closeShared(): Promise<void> {
  for (const close of closings.toReversed()) await close();
}
