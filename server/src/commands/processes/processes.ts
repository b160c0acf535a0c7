import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { isatty } from 'node:tty';
import type { Config } from '../../config.ts';
import { addressOf } from '../../lib/address-of.ts';
import { createLog } from '../../lib/log.ts';
import { CommandFailed } from '../../operations/refusal.ts';
import { systemdSocket } from '../../read-config.ts';
import { print, type Context } from '../output.ts';
import { inWords } from '../start-errors.ts';
import { stopSignal } from '../stop-signal.ts';
import { EndedAtStart, Fleet } from './fleet.ts';

/** Time that the processes may take to end after they have stopped. */
const endMs = 3_000;

/**
 * `serve --processes`: this process listens and starts those that serve. It reads nothing of a
 * connection, and has no connection to the database. Returns the exit code.
 */
export async function serveByProcesses(
  count: number,
  worker: boolean,
  context: Context,
): Promise<number> {
  const { config, json } = context;
  const log = createLog(config.FAREBOX_LOG_LEVEL);
  const asked = stopSignal(endMs);
  const listeners = await listen(config).catch((error: unknown) => {
    throw inWords(error, config, 'PORT');
  });
  const { port, host } = addressOf(listeners[0]!);
  const close = () => listeners.forEach((listener) => listener.close());
  const fleet = new Fleet({ log, onFull: close, worker, json, address: { host, port } });
  for (const listener of listeners) listener.on('connection', (socket) => fleet.give(socket));
  const { isTTY } = process.stdin;
  process.on('SIGHUP', () => {
    // A terminal that closes is none from then on, and ends what runs in it.
    if (isTTY && !isatty(0)) process.kill(process.pid, 'SIGTERM');
    else fleet.replaceAll();
  });
  try {
    const stopped = await Promise.race([asked, fleet.start(count)]);
    if (stopped === undefined) {
      const { FAREBOX_BASE_URL: base_url } = config;
      const said = { base_url, host, port, pid: process.pid, processes: fleet.pids };
      const text = `Farebox serves ${base_url} on ${host}:${port} with ${count} processes.`;
      print(context, { json: said, text });
    }
    log.info({ signal: stopped ?? (await Promise.race([asked, fleet.failed])) }, 'stopping');
    return 0;
  } catch (error) {
    if (!(error instanceof EndedAtStart)) throw error;
    // The process has said why it ended, unless a signal ended it.
    if (error.code === null) throw new CommandFailed(error.message, { cause: error });
    return error.code || 1;
  } finally {
    await fleet.stop();
    close();
    log.info({}, 'stopped');
  }
}

/** Listens as a single process would. */
async function listen(config: Config): Promise<Server[]> {
  const { HOST, PORT } = config;
  const passed = systemdSocket();
  if (passed !== null) return [await listenAt(passed)];
  const hosts =
    HOST === 'localhost' ? (await lookup(HOST, { all: true })).map(({ address }) => address) : [];
  const first = await listenAt({ host: hosts[0] ?? HOST, port: PORT });
  const { port } = addressOf(first);
  // As Fastify does: one address of localhost is enough.
  const others = hosts.slice(1).map((host) => listenAt({ host, port }).catch(() => []));
  return [first, ...(await Promise.all(others)).flat()];
}

async function listenAt(at: { fd: number } | { host: string; port: number }): Promise<Server> {
  // Paused: the process that gets the connection is the first to read it.
  const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true });
  server.listen(at);
  await once(server, 'listening');
  return server;
}
