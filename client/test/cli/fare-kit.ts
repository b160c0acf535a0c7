/** `fare` as a user runs it: in its own process, with its own home folder. */
import assert from 'node:assert/strict';
import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { atEnd } from '../../../server/test/kit/at-end.ts';
import { images } from '../../../server/test/kit/fake.ts';
import { isLong } from '../../../server/test/kit/long.ts';
import { fakeCatalog, type Service } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import type { Command, ProcessResult } from './fare-host.ts';

const client = path.join(import.meta.dirname, '../..');
const built = path.join(client, 'dist/cli/main.js');

export const notBuilt = !fs.existsSync(built) && 'the client is not built: npm run build';
/** The built program, or its source if it was not built. */
export const program = notBuilt === false ? built : path.join(client, 'src/cli/main.ts');

/** One cache for all tests, because a thousand processes would compile the same files. */
export const compileCache = process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'compiled');

/** The fake upstream's models, an expensive model, and one whose output is a text. */
export const catalog = `${fakeCatalog}
  - id: fake/dear
    kind: image
    task: text-to-image
    name: Dear image
    description: A dollar an image.
    price: { unit: image, usd_by_resolution: { 1k: "0.60", 2k: "1" } }
    max: 4
    max_unit: images
    resolutions: [1k, 2k]
    cost_usd_by_resolution: { 1k: "0.4", 2k: "0.4" }
    upstream_model: dear
    input_schema:
      type: object
      properties: { prompt: { type: string }, resolution: { enum: [1k, 2k] } }
      required: [prompt]
    example: { prompt: a cat }
  - id: fake/look/video-analyze
    kind: video
    task: video-analyze
    name: Fake look
    description: A text.
    price: { unit: request, usd: "0.01" }
    max: 1
    max_unit: requests
    cost_usd: "0.004"
    upstream_model: look
    input_schema: { type: object, properties: { video_url: { type: string } } }
    example: { video_url: "https://example.com/a.mp4" }
`;

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Both outputs and the exit code, for the message of a failed assertion. */
  all: string;
  /** The one JSON value that --json prints. */
  json: any;
  /** The JSON values of verbs that print one on each line. */
  lines: any[];
}

export interface RunningCommand {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  ended: Promise<CommandResult>;
}

export interface RunHow {
  /** The bytes of stdin; null: it stays open. */
  stdin?: string | Buffer | null;
  env?: Record<string, string | undefined>;
}

/** Somebody's computer. */
export interface Home {
  /** The working folder of commands, where outputs are saved. */
  dir: string;
  env: Record<string, string>;
  settingsFile: string;
  jobsFolder: string;
  /** The program in a process of its own. */
  start(args: string[], how?: RunHow): RunningCommand;
  /** Runs a verb to its end; in the short form, in a process that has run other verbs before. */
  run(args: string[], how?: RunHow): Promise<CommandResult>;
}

/** A computer with a saved key; null: without one. */
export function homeOf(service: Service, key: string | null): Home {
  const root = fs.mkdtempSync(path.join(service.dir, 'home-'));
  const dir = path.join(root, 'work');
  const config = path.join(root, 'config', 'farebox');
  const state = path.join(root, 'state');
  fs.mkdirSync(dir);
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: root,
    XDG_CONFIG_HOME: path.dirname(config),
    XDG_STATE_HOME: state,
    NODE_COMPILE_CACHE: compileCache,
    NODE_NO_WARNINGS: '1',
  };
  const settingsFile = path.join(config, 'settings.json');
  if (key !== null) {
    fs.mkdirSync(config, { recursive: true });
    fs.writeFileSync(
      settingsFile,
      JSON.stringify({ base_url: `${service.base}/v1`, api_key: key }),
      { mode: 0o600 },
    );
  }
  const home: Home = {
    dir,
    env,
    settingsFile,
    jobsFolder: path.join(state, 'farebox', 'jobs'),
    start(args, how = {}) {
      const child = spawn(process.execPath, [program, ...args], {
        cwd: dir,
        env: { ...env, ...how.env },
        stdio: 'pipe',
      });
      child.stdin.on('error', () => {});
      if (how.stdin !== null) child.stdin.end(how.stdin ?? '');
      return watched(child);
    },
    run(args, how = {}) {
      if (isLong) return home.start(args, how).ended;
      const stdin = Buffer.from(how.stdin ?? '').toString('latin1');
      return inHost({ args, env: { ...env, ...how.env }, dir, stdin });
    },
  };
  return home;
}

/** Idle processes that can run the next verb. */
const idle: ChildProcess[] = [];

async function inHost(command: Command): Promise<CommandResult> {
  const host = idle.pop() ?? newHost();
  const { code, stdout, stderr } = await new Promise<ProcessResult>((resolve, reject) => {
    const died = (code: number | null) =>
      reject(new Error(`fare ${command.args.join(' ')} ended its process with ${code}`));
    host.once('exit', died);
    host.once('message', (ended: ProcessResult) => {
      host.off('exit', died);
      resolve(ended);
    });
    host.send(command);
  });
  idle.push(host);
  return ranWith(code, stdout, stderr);
}

function newHost(): ChildProcess {
  const host = fork(path.join(import.meta.dirname, 'fare-host.ts'), {
    env: { NODE_COMPILE_CACHE: compileCache, NODE_NO_WARNINGS: '1' },
  });
  atEnd(async () => void host.kill());
  return host;
}

/** Starts a run whose job runs until `finish`. */
export async function begin(service: Service, home: Home, args: string[]) {
  let over = false;
  service.fake.behave.poll = () =>
    over ? { state: 'done', result: images(1) } : { state: 'running', poll_after_ms: 10 };
  const running = home.start(args);
  await until('it runs', () => running.stderr().includes('Running'));
  const id = /Request (\S+)/.exec(running.stderr())![1]!;
  return { running, id, finish: () => (over = true) };
}

/** Far longer than any verb takes, even if all cores are busy. */
const runMaxMs = 300_000;

function watched(child: ChildProcess): RunningCommand {
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), runMaxMs);
  const ended = once(child, 'close').then(([code]) => {
    clearTimeout(timer);
    return ranWith(code, stdout, stderr);
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

function ranWith(code: number | null, stdout: string, stderr: string): CommandResult {
  const all = `exit ${code}\n${stdout}\n${stderr}`;
  return {
    code,
    stdout,
    stderr,
    all,
    get json() {
      assert.match(stdout, /^[^\n]+\n$/, `not one line of JSON: ${all}`);
      return JSON.parse(stdout);
    },
    get lines() {
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    },
  };
}

/** Asserts that the command succeeded, and returns its result. */
export function well(ran: CommandResult): CommandResult {
  assert.equal(ran.code, 0, ran.all);
  return ran;
}

/** Asserts a refusal in words, without a stack and without anything that looks like a key. */
export function refused(ran: CommandResult, code: number, says: RegExp): CommandResult {
  assert.equal(ran.code, code, ran.all);
  assert.match(ran.stderr, says, ran.all);
  assert.doesNotMatch(
    ran.stdout + ran.stderr,
    /\n\s+at |node:internal|fbx_[0-9A-Za-z]{8}/,
    ran.all,
  );
  return ran;
}

/** Why tests have no terminal on this machine; null if they have one. */
export function withoutTerminal(): string | null {
  if (process.platform !== 'linux') return 'the test knows the `script` of Linux only';
  const found = spawnSync('script', ['--version']);
  return found.error ? 'there is no `script` (util-linux) here' : null;
}

export interface Terminal {
  /** All output so far, with its control sequences. */
  shown(): string;
  /** Waits until the output has this text after the end of the last wait. */
  see(what: RegExp): Promise<void>;
  type(text: string): void;
  child: ChildProcess;
  ended: Promise<number | null>;
}

/** Starts the command on a real terminal, which is its stdout and stderr. */
export function onTerminal(
  home: Home,
  args: string[],
  more: Record<string, string> = {},
): Terminal {
  const call = [process.execPath, program, ...args].map((each) => `'${each}'`).join(' ');
  const command = `stty cols 80 rows 30; exec ${call}`;
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: home.dir,
    env: { ...home.env, TERM: 'xterm-256color', SHELL: '/bin/sh', ...more },
    stdio: 'pipe',
  });
  child.stdin.on('error', () => {});
  const running = watched(child);
  let seenTo = 0;
  return {
    child,
    shown: running.stdout,
    async see(what) {
      const look = () => what.exec(running.stdout().slice(seenTo));
      const found = await until(`the terminal shows ${what}`, look).catch((error: Error) => {
        error.message += `; it shows ${JSON.stringify(running.stdout().slice(seenTo))}`;
        throw error;
      });
      seenTo += found.index + found[0].length;
    },
    type: (text) => void child.stdin.write(text),
    ended: running.ended.then(({ code }) => code),
  };
}
