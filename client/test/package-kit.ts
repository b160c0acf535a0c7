import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The published client in an empty project. */

export const root = path.resolve(import.meta.dirname, '../..');
export const workspace = path.join(root, 'client');
export const tools = path.join(root, 'node_modules', '.bin');

export interface Project {
  dir: string;
  /** The packed package. */
  tarball: string;
  write(files: Record<string, string>): void;
  stop(): void;
}

export interface ProcessResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Makes a project with only the package in it, without a network. Packages that `beside` names come
 * from the registry.
 */
export async function installed(beside: string[] = []): Promise<Project> {
  if (!existsSync(path.join(workspace, 'dist', 'index.js')))
    throw new Error('the client is not built: npm run build');
  // Not in memory below /dev, where Deno takes files for devices.
  const dir = mkdtempSync(path.join(process.env.FAREBOX_TEST_DISK ?? tmpdir(), 'farebox-package-'));
  const write = (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
      writeFileSync(path.join(dir, name), text);
    }
  };
  const packed = await run(
    'npm',
    ['pack', '--ignore-scripts', '--pack-destination', dir],
    workspace,
  );
  const name = packed.stdout.trim().split('\n').at(-1)!;
  const tarball = path.join(dir, name);
  write({ 'package.json': '{ "name": "stranger", "private": true, "type": "module" }' });
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts'];
  if (beside.length === 0) flags.push('--offline');
  const made = await run('npm', ['install', `./${name}`, ...beside, ...flags], dir);
  if (made.code !== 0) throw new Error(`npm install: ${made.stderr}`);
  return { dir, tarball, write, stop: () => rmSync(dir, { recursive: true, force: true }) };
}

export function run(
  command: string,
  args: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, NODE_OPTIONS: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended: ProcessResult = { code: null, stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => (ended.stdout += chunk));
    child.stderr.on('data', (chunk) => (ended.stderr += chunk));
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...ended, code }));
  });
}

/** A strict tsconfig.json, as the authors of programs use. */
export function strict(files: string[]): string {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
  };
  return JSON.stringify({ compilerOptions, files });
}

/** A program for any runtime: it estimates, runs, downloads and chats, and prints the results. */
export const program = (load: string) => `${load}
const main = async () => {
  const farebox = new Farebox();
  const ids = [];
  const { output, card } = await farebox.run(
    'fake/image',
    { prompt: 'a cat', image_url: file('./cat.png') },
    { maxUsdMicro: parseUsd('0.01'), onSubmit: ({ requestId }) => ids.push(requestId) },
  );
  const saved = await farebox.download(output.images[0].url, { to: './out.png' });
  const streamed = await farebox.upload(new Blob([await saved.arrayBuffer()]).stream());
  let text = '';
  const messages = [{ role: 'user', content: 'hi' }];
  for await (const chunk of await farebox.chat.create({ model: 'fake/chat', messages, stream: true }))
    text += chunk.choices[0]?.delta.content ?? '';
  const code = await farebox.submit('no/such', {}).catch((error) => error instanceof FareboxError && error.code);
  console.log(JSON.stringify({
    same: ids[0] === card.request_id,
    cost: formatUsd(card.charged_usd_micro),
    size: saved.size,
    streamed: streamed.size,
    text,
    code,
  }));
};
main();
`;

export const names = 'Farebox, FareboxError, file, formatUsd, parseUsd';
