import { readFileSync } from 'node:fs';

const sampleMs = 5_000;
const msAnHour = 3_600_000;

/**
 * Watches the memory of a process. The returned function ends this and gives the growth in MB an
 * hour over the second half of the time; null if it was short or the process has ended.
 */
export function watchGrowth(pid: number): () => number | null {
  const samples: { at: number; mb: number }[] = [];
  let isGone = false;
  const timer = setInterval(() => {
    const mb = residentMb(pid);
    if (mb === null) isGone = true;
    else samples.push({ at: performance.now(), mb });
  }, sampleMs);
  return () => {
    clearInterval(timer);
    const late = samples.slice(samples.length / 2);
    return isGone || late.length < 10 ? null : Math.round(slope(late) * msAnHour * 10) / 10;
  };
}

function residentMb(pid: number): number | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? NaN) / 1024;
  } catch {
    return null;
  }
}

/** The slope of the line that fits best, in MB a millisecond. */
function slope(samples: { at: number; mb: number }[]): number {
  const mean = (of: (each: { at: number; mb: number }) => number) =>
    samples.reduce((sum, each) => sum + of(each), 0) / samples.length;
  const [at, mb] = [mean((each) => each.at), mean((each) => each.mb)];
  return mean((s) => (s.at - at) * (s.mb - mb)) / mean((s) => (s.at - at) ** 2);
}
