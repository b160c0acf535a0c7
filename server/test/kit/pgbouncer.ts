import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { besideLibraries, debianPackage } from './debian.ts';
import { until } from './until.ts';

/** PgBouncer in front of a database. */
export interface Pooler {
  /** The URL of the database through the pooler. */
  url: string;
  /** Ends it, which breaks every connection, and starts it again at the same address. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** The unpacked package; null where it cannot be fetched. */
export const pgbouncer = () => debianPackage('pgbouncer', ['libc-ares2', 'libevent-2.1-7']);

/**
 * Starts PgBouncer with the defaults of its package.
 * @param unpacked as `pgbouncer` returns it
 * @param url the database, by a folder of a socket
 * @param dir a folder for its file
 * @param settings further lines of its file
 */
export async function openPooler(
  unpacked: string,
  { url, dir, settings }: { url: string; dir: string; settings: string[] },
): Promise<Pooler> {
  const [, user, folder, at, name] = /^postgres:\/\/([^@]+)@(.+):(\d+)\/(.+)$/.exec(url)!;
  const host = decodeURIComponent(folder!);
  const port = await freePort();
  const file = join(dir, `pgbouncer-${port}.ini`);
  const lines = [
    '[databases]',
    `books = host=${host} port=${at} user=${user} dbname=${name}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    ...settings,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  // It does not run as root, and the embedded PostgreSQL accepts only its own user.
  const owner = execFileSync('stat', ['-c', '%U', host]).toString().trim();
  const own = process.getuid?.() === 0 ? ['-u', owner] : [];
  let running: ChildProcess;
  const start = async () => {
    running = spawn(join(unpacked, 'usr/sbin/pgbouncer'), [...own, file], {
      env: besideLibraries(unpacked),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    running.stderr!.on('data', (chunk) => (said += chunk));
    await until(`PgBouncer listens: ${said}`, () => said.includes('process up'));
  };
  const close = async () => {
    running.kill();
    await once(running, 'exit');
  };
  await start();
  return {
    url: `postgres://${user}@127.0.0.1:${port}/books`,
    async restart() {
      await close();
      await start();
    },
    close,
  };
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  return port;
}
