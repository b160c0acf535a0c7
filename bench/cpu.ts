import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** CPU seconds of a process and all its descendants since their start. */
export function cpuSeconds(pid: number): number {
  const children = new Map<number, number[]>();
  const own = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const parent = Number(fields[1]);
      own.set(
        Number(name),
        (Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])) /
          ticksPerSecond,
      );
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // The process ended in the meantime.
    }
  }
  const sum = (id: number): number =>
    (own.get(id) ?? 0) + (children.get(id) ?? []).reduce((total, child) => total + sum(child), 0);
  return sum(pid);
}

/** CPU milliseconds of a process's main thread since its start, exact enough for a single call. */
export function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** CPU seconds of all programs of the machine since its start. */
export function machineSeconds(): number {
  const [, user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8').split(/ +/);
  const ticks = [user, nice, system, irq, softirq].reduce((sum, each) => sum + Number(each), 0);
  return ticks / ticksPerSecond;
}
