import { closeSync, openSync } from 'node:fs';
import { startApp } from '../../src/app.ts';
import { openServiceDatabase } from '../../src/database.ts';
import { readConfig } from '../../src/read-config.ts';
import { createLog } from '../../src/lib/log.ts';
import { setClockOff } from './clock.ts';
import { createRemote } from './remote.ts';

/**
 * One process of the service for the fault tests: `node.ts http|worker|both [UPSTREAM_URL]`, with
 * other options from the environment. Without the address, its catalog defines the upstreams.
 */

/** The harness asks a process to shift its clock, or to use up its memory. */
export type NodeFault = { clock_off_ms: number } | 'exhaust_memory';

setClockOff(Number(process.env.CHAOS_CLOCK_OFF_MS ?? 0));
const [role, upstreamUrl] = process.argv.slice(2) as [string, string?];
const config = readConfig();
const log = createLog(config.FAREBOX_LOG_LEVEL);
const database = await openServiceDatabase(config, `chaos ${role}`, log);
const remotes = (address: string) =>
  new Map(
    (['A', 'B', 'C'] as const).map((kind) => {
      const upstream = createRemote(address, kind);
      return [upstream.name, upstream] as const;
    }),
  );
const app = await startApp({
  config,
  database: database,
  log,
  http: true,
  worker: role !== 'http',
  ...(upstreamUrl !== undefined && { upstreams: remotes(upstreamUrl) }),
});
process.send!({ port: app.address!.port });
process.on('SIGTERM', () => void app.stop(3_000).then(() => process.exit(0)));
process.on('message', (fault: NodeFault) => {
  if (fault === 'exhaust_memory') exhaustMemory();
  else setClockOff(fault.clock_off_ms);
});
// Exits when the harness is gone.
process.on('disconnect', () => process.exit(1));

/** Allocates until V8 ends the process, in the midst of whatever it does. */
function exhaustMemory(): never {
  // V8 prints its last words of thirty lines there.
  closeSync(2);
  openSync('/dev/null', 'w');
  const kept: unknown[] = [];
  for (;;) kept.push(Array.from({ length: 10_000 }, (_, i) => ({ i })));
}
