import { stat, utimes, writeFile } from 'node:fs/promises';
import { PRIVATE, isCode, readJson, remove } from './folder.ts';
import type { Folder } from './folder.ts';

/**
 * Who renders a job now, so that several processes do not do the same work. Only a saving: two that
 * render one job make the same bytes, and one result stays.
 */

/** A claim whose holder has not touched it for this long has no holder. */
const CLAIM_LIFE_MS = 20_000;
export const CLAIM_TOUCH_MS = 5_000;

export function createClaims({ at }: Folder) {
  return {
    /** Takes the right to render; false while another living process holds it. */
    async claim(key: string): Promise<boolean> {
      const path = at('claims', key);
      const holder = JSON.stringify({ pid: process.pid });
      try {
        await writeFile(path, holder, { flag: 'wx', ...PRIVATE });
        return true;
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error;
      }
      if (await isHeld(path)) return false;
      await writeFile(path, holder, PRIVATE);
      return true;
    },
    touchClaim: (key: string): Promise<void> => {
      const now = new Date();
      return utimes(at('claims', key), now, now).catch(() => undefined);
    },
    dropClaim: (key: string): Promise<void> => remove(at('claims', key)),
  };
}

async function isHeld(path: string): Promise<boolean> {
  const held = await stat(path).catch(() => null);
  if (!held || Date.now() - held.mtimeMs > CLAIM_LIFE_MS) return false;
  const pid = (await readJson<{ pid: number }>(path))?.pid;
  if (pid === undefined || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, 'EPERM');
  }
}
