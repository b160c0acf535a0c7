import type { Logger } from 'pino';
import { LogThrottle } from '../../lib/log-throttle.ts';

/** A disk that can become full; two entries may be the same disk. */
export interface Disk {
  holds: 'data' | 'media';
  /** While a guarded disk is nearly full, no new work is taken. */
  isGuarded: boolean;
  free: () => Promise<number | null>;
}

/** With less free space no new work is taken: a database on the disk could run out of space. */
export const lowBytes = 256 * 1024 * 1024;
const checkMs = 5_000;

export interface Space {
  /** True if a guarded disk of this kind is nearly full; without a kind, if any guarded disk is. */
  low: (holds?: Disk['holds']) => boolean;
  stop: () => void;
}

/**
 * Checks each guarded disk separately, because a check may hang. `onLow` is called when a disk
 * becomes nearly full.
 */
export function watchSpace(
  disks: Disk[],
  log: Logger,
  onLow: (holds: Disk['holds'], freeBytes: number) => void,
): Space {
  const low = new Set<Disk>();
  const throttle = new LogThrottle();
  const look = async (disk: Disk) => {
    const free_bytes = await disk.free();
    const isLow = free_bytes !== null && free_bytes < lowBytes;
    if (isLow === low.has(disk)) return;
    if (isLow) low.add(disk);
    else low.delete(disk);
    const what = isLow ? 'disk space is low: taking no new work' : 'disk space is back';
    log.warn({ disk: disk.holds, free_bytes }, what);
    if (isLow) onLow(disk.holds, free_bytes);
  };
  const checkAll = () =>
    disks
      .filter(({ isGuarded }) => isGuarded)
      .forEach((disk) => {
        look(disk).catch((err: unknown) => {
          const failed = throttle.due(disk.holds);
          if (failed === null) return;
          log.warn({ disk: disk.holds, failed, err }, 'could not measure free space');
        });
      });
  checkAll();
  const timer = setInterval(checkAll, checkMs);
  timer.unref();
  return {
    low: (holds) => [...low].some((disk) => holds === undefined || disk.holds === holds),
    stop: () => clearInterval(timer),
  };
}
