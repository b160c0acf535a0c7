import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { openSandbox } from '../upstreams/sandbox-kit.ts';

/** The examples as a reader runs them: against a whole service, with the sandbox's own models. */
export interface World {
  service: Service;
  account: TestAccount;
  /** A folder for the files that a program writes. */
  dir: string;
  /** The variables that a reader exports. */
  env: Record<string, string>;
  run(command: string, args: string[], env?: Record<string, string>): Promise<CommandResult>;
  stop(): Promise<void>;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export const examples = join(import.meta.dirname, '../../../examples');
const catalog = readFileSync(new URL('../../../catalog/sandbox.yaml', import.meta.url), 'utf8');

export async function openWorld(env: Record<string, string> = {}): Promise<World> {
  const opened = await openSandbox();
  const service = await startService({ catalog, upstreams: [opened.sandbox], running: true, env });
  const account = await service.account({ usd: 5 });
  const dir = mkdtempSync(join(tmpdir(), 'example-'));
  const own = {
    PATH: process.env.PATH!,
    HOME: dir,
    FAREBOX_API_KEY: account.key,
    FAREBOX_BASE_URL: `${service.base}/v1`,
  };
  return {
    service,
    account,
    dir,
    env: own,
    async run(command, args, more = {}) {
      const options = { cwd: dir, env: { ...own, ...more } };
      const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
      const [stdout, stderr, code] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        new Promise<number | null>((resolve, reject) =>
          child.once('error', reject).once('close', resolve),
        ),
      ]);
      return { code, stdout, stderr };
    },
    async stop() {
      await service.audit();
      await service.stop();
      await opened.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Why a program cannot run on this machine; false if it can. */
export function missing(command: string, ...args: string[]): string | false {
  const { status, error } = spawnSync(command, args);
  return status === 0 && !error ? false : `${[command, ...args].join(' ')} does not work here`;
}
