import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes leftovers of crashes from a folder of temporary files: entries whose names begin with
 * `prefix` and that nobody has written to for `staleMs`. Younger entries may belong to another
 * running process. An entry that cannot be removed is left, and does not make the start fail.
 */
export function sweepTemp(folder: string, prefix: string, staleMs: number): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(folder, name);
    try {
      if (Date.now() - lstatSync(path).mtimeMs > staleMs) rmSync(path, { recursive: true });
    } catch {
      // Another process was faster, or the entry belongs to another user.
    }
  }
}
