import { availableParallelism } from 'node:os';
import { ConfigError, type Config } from '../config.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { systemdSocket } from '../read-config.ts';
import { print, type Context } from './output.ts';

export async function serve(
  given: { worker: boolean; embedded?: boolean; processes?: string },
  context: Context,
): Promise<number | void> {
  const { config } = context;
  demand(config, given.embedded);
  // guard: no-worker (off: true)
  const worker = given.worker && config.FAREBOX_WORKER;
  if (given.processes !== undefined) {
    if (given.embedded)
      throw new CommandFailed(
        'The embedded PostgreSQL serves one process. Leave --embedded or --processes out.',
      );
    const { serveByProcesses } = await import('./processes/processes.ts');
    return serveByProcesses(countOf(given.processes), worker, context);
  }
  const { live, withoutSandbox } = await import('./live.ts');
  const parts = { http: true, worker, entrance: systemdSocket() ?? undefined };
  await live(withoutSandbox(config), parts, (app) => {
    const { address, baseUrl: base_url } = app;
    const text = `Farebox serves ${base_url} on ${address!.host}:${address!.port}.`;
    print(context, { json: { base_url, ...address, pid: process.pid }, text });
  });
}

/** One process for each core: its other threads only help. */
function countOf(processes: string): number {
  return processes === 'auto' ? availableParallelism() : Number(processes);
}

export async function work({ embedded }: { embedded?: boolean }, context: Context): Promise<void> {
  const { config } = context;
  demand(config, embedded);
  const { live, withoutSandbox } = await import('./live.ts');
  await live(withoutSandbox(config), { http: false, worker: true }, ({ address }) => {
    const where = address ? ` Health and metrics: ${address.host}:${address.port}.` : '';
    print(context, { json: { ...address, pid: process.pid }, text: `Farebox works.${where}` });
  });
}

const demanded = ['DATABASE_URL', 'FAREBOX_SECRET', 'FAREBOX_BASE_URL'] as const;

function demand(config: Config, embedded = false): void {
  if (embedded && config.DATABASE_URL !== null) {
    throw new ConfigError(
      'DATABASE_URL and --embedded name two different databases. Leave --embedded out, or unset DATABASE_URL.',
    );
  }
  const missing = embedded ? [] : demanded.filter((name) => config[name] === null);
  if (missing.length === 0) return;
  throw new ConfigError(
    `Set ${missing.join(', ')}, or use --embedded for the embedded PostgreSQL and a generated secret.`,
  );
}
