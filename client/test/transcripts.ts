/**
 * `npm run transcripts`: records real terminal sessions in docs/fare.md. Replaces each block that
 * follows `<!-- transcript: NAME -->`. Needs tmux; starts a trial of its own.
 */
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../server/test/kit/until.ts';

/** Keys to type, and the text that must be on the screen before the next keys. */
type Step = [keys: string[], sees: RegExp];
const line = (text: string): string[] => [text, 'Enter'];
const prompt = /\$ $/;

const page = new URL('../../docs/fare.md', import.meta.url);
const root = path.resolve(import.meta.dirname, '../..');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fare-'));
const socket = path.join(home, 'tmux');
const tmux = (...args: string[]) =>
  execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8' });
/** The screen without trailing spaces, and with wrapped lines joined. */
const screen = () =>
  tmux('capture-pane', '-p', '-J', '-S', '-', '-t', 'fare').replaceAll(/ +$/gm, '').trimEnd();

const trial = spawn(process.execPath, [path.join(root, 'server/src/main.ts'), 'trial', '--json'], {
  env: { PATH: process.env.PATH, PORT: '0', FAREBOX_DATA_DIR: path.join(home, 'data') },
  stdio: ['ignore', 'pipe', 'ignore'],
});
let said = '';
trial.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
try {
  await until('the trial is ready', () => said.includes('\n'), 60_000);
  await writeAll(JSON.parse(said.split('\n')[0]!) as { base_url: string; key: string });
} finally {
  trial.kill('SIGINT');
  await new Promise((end) => trial.once('close', end));
  fs.rmSync(home, { recursive: true, force: true });
}

async function writeAll({ base_url, key }: { base_url: string; key: string }): Promise<void> {
  openScreen();
  let text = fs.readFileSync(page, 'utf8');
  let crowded = async () => {};
  for (const [name, steps] of Object.entries(scenes(base_url, key))) {
    // The next commands do not wait for this job.
    if (name === 'cancel') crowded = await crowd(base_url, key, 12);
    if (name === 'resume') await crowded();
    const shown = (await play(steps))
      .replaceAll(base_url, 'http://localhost:8080/v1')
      .replaceAll(home, '~');
    const block = new RegExp(`(<!-- transcript: ${name} -->\n\`\`\`console\n)[^]*?(?=\`\`\`)`);
    if (!block.test(text)) throw new Error(`docs/fare.md has no transcript ${name}`);
    text = text.replace(block, (_all, head: string) => `${head}${shown}\n`);
  }
  tmux('kill-server');
  fs.writeFileSync(page, text);
}

function scenes(base: string, key: string): Record<string, Step[]> {
  const film = 'fare run sandbox/film/text-to-video --prompt "waves at night" resolution=720p';
  return {
    login: [
      [line(`fare login --base-url ${base}`), /API key/],
      [line(key), /Saved to/],
    ],
    models: [[line('fare models upscale'), prompt]],
    price: [
      [
        line('fare price sandbox/film/text-to-video duration_seconds=8 --prompt waves'),
        /AMOUNT[^]*\$ $/,
      ],
    ],
    run: [[line('fare run sandbox-sketch --prompt "a lighthouse at dawn"'), /Charged/]],
    ask: [
      [line(`${film} duration_seconds=8`), /Spend/],
      [['n'], /Nothing was submitted/],
    ],
    cancel: [
      [line('fare run sandbox-sketch --prompt "a boat"'), /In the queue/],
      [['C-c'], /Cancelled[^\n]*\n\$ $/],
      [line('echo $?'), /130/],
    ],
    resume: [
      [line(`${film} duration_seconds=4`), /Running/],
      [['C-c'], /fare resume[^\n]*\n\$ $/],
      [line('fare resume'), /Charged/],
    ],
    chat: [
      [line('fare chat'), /> $/],
      [line('Hello!'), /tokens in[^]*> $/],
      [line('/model sandbox/chat/large'), /large, [^]*> $/],
      [line('And you?'), /tokens in[^]*tokens in[^]*> $/],
      [['C-d'], /in all/],
    ],
    pipe: [
      [
        line('echo "one two three" | fare chat sandbox/chat "Count the words:" - --quiet'),
        /words[^]*\$ $/,
      ],
    ],
  };
}

function openScreen(): void {
  const bin = path.join(home, 'bin');
  fs.mkdirSync(bin);
  const cli = path.join(root, 'client/dist/cli/main.js');
  fs.writeFileSync(
    path.join(bin, 'fare'),
    `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`,
    { mode: 0o755 },
  );
  const env = [`HOME=${home}`, `PATH=${bin}:${process.env.PATH}`, 'PS1=$ ', 'TERM=xterm-256color'];
  const bash = `cd ${home} && exec env -i ${env.map((each) => `'${each}'`).join(' ')} bash --norc --noprofile`;
  tmux('-f', '/dev/null', 'new-session', '-d', '-s', 'fare', '-x', '80', '-y', '40', bash);
}

async function play(steps: Step[]): Promise<string> {
  tmux('send-keys', '-t', 'fare', 'clear', 'Enter');
  await pause(300);
  tmux('clear-history', '-t', 'fare');
  for (const [keys, sees] of steps) {
    tmux('send-keys', '-t', 'fare', ...keys);
    await until(`it shows ${sees}: ${screen()}`, () => sees.test(`${screen()} `));
  }
  await until('it has ended', () => screen().endsWith('$'));
  return screen().replace(/\n\$$/, '');
}

/**
 * Keeps the sandbox busy, so that the next request has to wait. Returns a function that waits until
 * it is free again.
 */
async function crowd(base: string, key: string, count: number): Promise<() => Promise<void>> {
  const headers = { authorization: `Key ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ prompt: 'sandbox:slow=15' });
  const read = async (path: string, init: RequestInit = {}) => {
    const reply = await fetch(`${base}${path}`, { ...init, headers });
    return (await reply.json()) as Record<string, any>;
  };
  const call = () => read('/queue/sandbox-sketch', { method: 'POST', body });
  const jobs = await Promise.all(Array.from({ length: count }, call));
  return async () => {
    for (const { request_id } of jobs)
      await read(`/requests/${request_id}/status?wait=60&until=final`);
  };
}
