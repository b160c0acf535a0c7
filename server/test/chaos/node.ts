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
// Exits when the harness is gone.
process.on('disconnect', () => process.exit(1));
