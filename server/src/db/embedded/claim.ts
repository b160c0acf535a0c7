/**
 * Claims of a folder among running processes. Each claimant listens on its own Unix socket inside
 * the folder, and is alive if the socket accepts a connection. The kernel closes the sockets of a
 * dead process, so `kill -9` frees a claim at once, and no age or pid has to be checked.
 *
 * Two simultaneous claimants never both win, because each first makes its socket visible and then
 * asks all the others. The claimant that became visible later must see the earlier one. If each
 * sees the other, both step back and try again after a random pause.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolders } from '../../lib/files/make-folders.ts';
import { maxSocketPathBytes, shortFolder } from './files.ts';
import { fromJson } from '../../lib/json.ts';

/** `mute`: the claimant is alive but gave no readable answer; treated like `held`. */
type State = 'entering' | 'held' | 'mute';

interface Holder {
  name: string;
  /** Null: dead. */
  state: State | null;
  info: string;
}

interface Entry {
  name: string;
  hold(): void;
  leave(): void;
}

export interface FolderClaim {
  release(): void;
}

const replyTimeoutMs = 1000;
const unfinishedAgeMs = 60_000;

/**
 * Claims the folder if no running process holds it.
 * @param info a short text that other claimants see as `held_by`
 */
export async function claim(
  folder: string,
  info: string,
): Promise<FolderClaim | { held_by: string }> {
  makeFolders(folder, 0o700);
  for (;;) {
    const holder = (await look(folder)).find(isHolder);
    if (holder) return { held_by: holder.info };
    const entry = await enter(folder, info);
    const others = await look(folder, entry.name).catch((error: unknown) => {
      entry.leave();
      throw error;
    });
    if (others.every((other) => other.state === null)) {
      entry.hold();
      sweep(folder, others);
      return { release: entry.leave };
    }
    entry.leave();
    await delay(5 + Math.random() * 40);
  }
}

/**
 * Like `claim`, but waits until the folder is free. Rejects after `timeout_ms`, naming the holder.
 */
export async function waitForClaim(
  folder: string,
  info: string,
  timeout_ms: number,
  signal?: AbortSignal,
): Promise<FolderClaim> {
  const deadline = performance.now() + timeout_ms;
  for (;;) {
    const result = await claim(folder, info);
    if ('release' in result) return result;
    if (performance.now() > deadline) {
      throw new Error(`${folder} is still in use after ${timeout_ms} ms, by ${result.held_by}`);
    }
    await delay(10 + Math.random() * 30, undefined, { signal });
  }
}

async function enter(folder: string, info: string): Promise<Entry> {
  let state: State = 'entering';
  const opened = openFolder(folder);
  const name = `${randomBytes(6).toString('hex')}.sock`;
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.end(JSON.stringify({ state, info }));
  });
  const leave = () => {
    fs.rmSync(path.join(opened.folder, name), { force: true });
    server.close();
    opened.close();
  };
  try {
    server.listen(opened.path(`${name}.new`));
    await once(server, 'listening');
    // The socket is renamed only once it listens, so a visible socket that refuses a connection
    // certainly belongs to a dead process.
    fs.renameSync(path.join(opened.folder, `${name}.new`), path.join(opened.folder, name));
  } catch (error) {
    leave();
    throw error;
  }
  // A failed accept (no file descriptors left) must not end the process.
  server.on('error', () => {});
  server.unref();
  return { name, hold: () => void (state = 'held'), leave: onlyOnce(leave) };
}

async function look(folder: string, except?: string): Promise<Holder[]> {
  const opened = openFolder(folder);
  try {
    const names = fs.readdirSync(opened.folder).filter((name) => name.endsWith('.sock'));
    const others = names.filter((name) => name !== except);
    return await Promise.all(
      others.map(async (name) => {
        const { state, info } = await probe(opened.path(name));
        return { name, state, info };
      }),
    );
  } finally {
    opened.close();
  }
}

async function probe(socketPath: string): Promise<{ state: State | null; info: string }> {
  // A process that dies during the question resets the connection. A second question shows whether
  // it is dead or only busy.
  for (let tries = 0; tries < 3; tries++) {
    const answer = await ask(socketPath);
    if (answer === 'nobody') return { state: null, info: '' };
    if (answer === 'silence') break;
    try {
      return fromJson(answer.text);
    } catch {
      await delay(20);
    }
  }
  return { state: 'mute', info: 'a process that does not respond' };
}

function ask(socketPath: string): Promise<{ text: string } | 'nobody' | 'silence'> {
  return new Promise((resolve) => {
    let text = '';
    const socket = net.connect(socketPath);
    socket.setTimeout(replyTimeoutMs, () => {
      resolve('silence');
      socket.destroy();
    });
    socket.setEncoding('utf8');
    socket.on('data', (part) => (text += part));
    socket.on('close', () => resolve({ text }));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve('nobody');
    });
  });
}

function sweep(folder: string, seen: Holder[]): void {
  const { folder: real, close } = openFolder(folder);
  close();
  for (const { name, state } of seen) {
    if (state === null) fs.rmSync(path.join(real, name), { force: true });
  }
  for (const name of fs.readdirSync(real).filter((one) => one.endsWith('.new'))) {
    const file = path.join(real, name);
    const { mtimeMs } = fs.statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > unfinishedAgeMs) fs.rmSync(file, { force: true });
  }
}

function isHolder(one: Holder): boolean {
  return one.state === 'held' || one.state === 'mute';
}

/**
 * A socket's path may have about 100 bytes, and a data folder's path may be longer. On Linux the
 * path goes through an open descriptor of the folder. Elsewhere a short folder, named after a hash
 * of the path, takes the place of a folder with a long path.
 */
function openFolder(folder: string): { folder: string; path(name: string): string; close(): void } {
  if (process.platform === 'linux') {
    const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
    const close = onlyOnce(() => fs.closeSync(fd));
    return { folder, path: (name) => `/proc/self/fd/${fd}/${name}`, close };
  }
  const longest = path.join(fs.realpathSync(folder), 'x'.repeat(21));
  const fits = Buffer.byteLength(longest) < maxSocketPathBytes;
  const real = fits ? folder : shortFolder(fs.realpathSync(folder), null);
  return { folder: real, path: (name) => path.join(real, name), close: () => {} };
}

function onlyOnce(run: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    run();
  };
}
