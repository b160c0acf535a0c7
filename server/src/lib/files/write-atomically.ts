import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes a private file so that it is complete or missing, even if the disk is full or the power
 * fails. Throws `EEXIST` if the file exists and `replaces` is false.
 */
export function writeAtomically(
  file: string,
  text: string,
  { replaces }: { replaces: boolean },
): void {
  const draft = `${file}.${process.pid}.part`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flush: true });
    if (replaces) renameSync(draft, file);
    else linkSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}
