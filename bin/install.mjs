// Makes node_modules agree with package-lock.json, and does nothing if it already does. npm runs it
// before `start` and `test`, so it must work on a bare clone with any Node from 20 on. Without
// `--tests` it leaves out the packages that only tests and checks need.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const modules = path.join(root, 'node_modules');
const record = path.join(modules, '.farebox-lock');
const turnstile = path.join(root, '.install-lock');
const ownNode = path.join(modules, 'node', 'bin', 'node');

const nodeMajor = Number(process.versions.node.split('.')[0]);
const oldestNode = 20;
const wantedNode = 24;

/** Leaves out the packages of the root, which only tests and checks need. */
const toStart = ['--workspace=server', '--workspace=client', '--workspace=web'];
const all = process.argv.includes('--tests');

let child;
let holdsTurnstile = false;
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stopped = true;
    // Stop a running npm first and wait for its end, so that the next install does not meet its
    // last writes.
    if (child) return child.kill(signal);
    leave();
    process.exit(1);
  });
}

try {
  if (nodeMajor < oldestNode) {
    throw new Error(`Farebox needs Node ${oldestNode} or later; this is ${process.version}.`);
  }
  const wanted = wantedState();
  if (!isCurrent(wanted)) await install(wanted);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  leave();
}

/** The record of a finished install: the hash of the lock file, the platform, and how much. */
function wantedState() {
  const lock = fs.readFileSync(path.join(root, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex');
  const state = `${hash} ${process.platform}-${process.arch}`;
  return { start: `${state} start\n`, all: `${state} all\n` };
}

function isCurrent(wanted) {
  return hasPackages(wanted) && hasNode();
}

function hasPackages(wanted) {
  const state = read(record);
  return state === wanted.all || (!all && state === wanted.start);
}

// The installed Node is needed only if the system's Node is too old.
function hasNode() {
  return nodeMajor >= wantedNode || fs.existsSync(ownNode);
}

async function install(wanted) {
  await enter();
  // Another process may have finished the install while this one waited.
  if (isCurrent(wanted)) return;
  if (!hasPackages(wanted)) {
    if (wasInstalledByHand()) writeRecord(wanted.all);
    // Adds to what is there, because `npm ci` would delete it below a service that runs.
    else if (read(record) === wanted.start) await npm(['install'], 'that the tests need');
    else await npm(['ci', ...(all ? [] : toStart)], 'that Farebox needs');
  }
  if (!hasNode()) await repairNode();
  if (!hasPackages(wanted)) writeRecord(all ? wanted.all : wanted.start);
}

/** Replaces the file: several clones may share it by hard links, and each has its own record. */
function writeRecord(state) {
  fs.writeFileSync(`${record}.new`, state);
  fs.renameSync(`${record}.new`, record);
}

async function npm(command, purpose) {
  console.error(`Installing the packages ${purpose}: about a minute, and only this once …`);
  const startedAt = Date.now();
  // Quiet, because warnings about engines and deprecations do not help a user who starts Farebox.
  const quiet = ['--loglevel=error', '--no-progress', '--no-audit', '--no-fund'];
  const code = await run('npm', [...command, '--include=dev', ...quiet], root);
  if (stopped) throw new Error('Stopped before the packages were installed.');
  if (code !== 0) {
    throw new Error(
      `npm ${command[0]} ended with ${code}. Is the npm registry reachable? ` +
        `Run "npm ci" in ${root} to see all it says, then try again.`,
    );
  }
  console.error(`Installed in ${Math.round((Date.now() - startedAt) / 1000)} s.`);
}

/**
 * Installs Node 24 if npm did not. An install script does that, and npm may skip install scripts by
 * default or by the user's settings.
 */
async function repairNode() {
  console.error(
    `npm ran no install scripts, so Node ${wantedNode} is being put in place by hand …`,
  );
  const folder = path.join(modules, 'node');
  const script = path.join(folder, 'installArchSpecificPackage.js');
  const code = fs.existsSync(script) ? await run(process.execPath, [script], folder) : 1;
  if (code === 0) linkNode();
  if (!hasNode()) {
    throw new Error(
      `Farebox runs on Node ${wantedNode}, and the npm package "node" could not put it in place. ` +
        `Either install Node ${wantedNode} yourself, or let npm run that package's script: ` +
        'npm rebuild node --ignore-scripts=false',
    );
  }
}

// Makes the link in .bin, which npm omits if the link's target does not exist yet.
function linkNode() {
  const link = path.join(modules, '.bin', 'node');
  fs.mkdirSync(path.dirname(link), { recursive: true });
  fs.rmSync(link, { force: true });
  fs.symlinkSync(path.join('..', 'node', 'bin', 'node'), link);
}

/** Whether the user's own `npm install` has already installed every locked package. */
function wasInstalledByHand() {
  const wanted = packagesOf(path.join(root, 'package-lock.json'));
  // npm writes this file last, so it proves a complete install.
  const present = packagesOf(path.join(modules, '.package-lock.json'));
  if (!wanted || !present) return false;
  return Object.entries(wanted).every(([place, entry]) => {
    const optional = entry.optional || entry.devOptional || entry.peer;
    if (!place.includes('node_modules/') || entry.link || (optional && !present[place]))
      return true;
    return present[place]?.version === entry.version && fs.existsSync(path.join(root, place));
  });
}

function packagesOf(file) {
  const text = read(file);
  return text === undefined ? undefined : JSON.parse(text).packages;
}

/** Lets one install run at a time: two `npm ci` in one folder delete each other's files. */
async function enter() {
  for (let told = false; ; told = true) {
    try {
      // The lock is a symbolic link whose target is the holder's process id. A link appears in one
      // step, while a file could be read half-written.
      fs.symlinkSync(String(process.pid), turnstile);
      holdsTurnstile = true;
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = holderOfTurnstile();
    if (holder === undefined) continue;
    if (!isAlive(holder)) {
      // The lock was left by an install that was killed.
      fs.rmSync(turnstile, { force: true });
      continue;
    }
    if (!told) {
      console.error(
        `Process ${holder} is installing the packages; waiting for it. ` +
          `(If that process is something else, delete ${turnstile}.)`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function holderOfTurnstile() {
  try {
    return Number(fs.readlinkSync(turnstile));
  } catch {
    return undefined;
  }
}

function leave() {
  if (holdsTurnstile) fs.rmSync(turnstile, { force: true });
  holdsTurnstile = false;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Runs a program, shows its errors, and returns its exit code. */
function run(command, args, cwd) {
  return new Promise((resolve, reject) => {
    child = spawn(command, args, {
      cwd,
      env: { ...process.env, PATH: pathWithoutOurs() },
      stdio: ['ignore', 'ignore', 'inherit'],
      // On Windows npm is a batch file, which needs a shell.
      shell: process.platform === 'win32' && command === 'npm',
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      child = undefined;
      resolve(code ?? signal);
    });
  });
}

// `npm ci` deletes node_modules, so it must not run on the Node inside it.
function pathWithoutOurs() {
  const ours = path.join(modules, '.bin');
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.filter((folder) => path.resolve(folder) !== ours).join(path.delimiter);
}

function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
