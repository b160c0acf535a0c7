/** Browsers that are installed on this machine: Firefox, and WebKit as GNOME's browser has it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../server/test/kit/until.ts';
import type { Cleanup } from '../../../server/test/db/embedded-kit.ts';
import { openDriver } from './hand.ts';
import { openMarionette, type Send } from './marionette.ts';

/** A browser with a window of this size; it ends with the test. */
export interface Program {
  /** Why it cannot start here, in words; null if it can. */
  missing: string | null;
  start(t: Cleanup, window: { width: number; height: number }): Promise<Send>;
}

function lacks(names: string[], packages: string): string | null {
  const missing = names.filter((name) => spawnSync('which', [name]).status !== 0);
  return missing.length === 0 ? null : `without ${missing.join(', ')}: apt-get install ${packages}`;
}

/** Ends the program and what it has started. */
function end(child: ChildProcess): void {
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
}

export const firefox: Program = {
  missing: lacks(['firefox-esr'], 'firefox-esr'),
  async start(t, { width, height }) {
    const profile = await mkdtemp(join(tmpdir(), 'firefox-'));
    // Port 0: a free one, which Firefox writes into the profile.
    await writeFile(join(profile, 'user.js'), 'user_pref("marionette.port", 0);\n');
    const args = ['--headless', '--marionette', '--no-remote', '--profile', profile];
    const size = [`--width=${width}`, `--height=${height}`];
    const child = spawn('firefox-esr', [...args, ...size], { stdio: 'ignore', detached: true });
    t.after(async () => {
      end(child);
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    });
    const file = join(profile, 'MarionetteActivePort');
    await until('Firefox listens', () => existsSync(file));
    const { send, close } = openMarionette(Number(await readFile(file, 'utf8')));
    t.after(async () => close());
    await send('WebDriver:NewSession', {});
    await send('WebDriver:SetWindowRect', { width, height });
    return send;
  },
};

export const webkit: Program = {
  missing: lacks(['WebKitWebDriver', 'xvfb-run'], 'webkit2gtk-driver xvfb'),
  async start(t, { width, height }) {
    const port = await freePort();
    const screen = `-screen 0 ${width}x${height}x24`;
    const args = ['-a', '-s', screen, 'WebKitWebDriver', `--port=${port}`];
    const child = spawn('xvfb-run', args, { stdio: 'ignore', detached: true });
    t.after(async () => end(child));
    const address = `http://127.0.0.1:${port}`;
    const isUp = async () => (await fetch(`${address}/status`)).ok;
    await until('the driver listens', () => isUp().catch(() => false));
    const send = await openDriver(address);
    t.after(async () => void (await send('WebDriver:DeleteSession', {}).catch(() => null)));
    await send('WebDriver:SetWindowRect', { x: 0, y: 0, width, height });
    return send;
  },
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
