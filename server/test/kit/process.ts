import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Service } from './service.ts';

/** The real program in its own process, on the database of a test's service. */
export interface ServiceProcess {
  base: string;
  signal(name: NodeJS.Signals): void;
  /** Resolves when the process ends, with the exit code or the signal that killed it. */
  ended: Promise<number | NodeJS.Signals>;
  /** Everything that the process wrote to stdout and stderr. */
  output(): string;
  /** Kills the process if it still runs. */
  kill(): Promise<void>;
}

/** A chat model of the sandbox, because messages can ask it for faults and delays. */
const catalog = `
upstream: sandbox
owned_by: sandbox
models:
  - id: real/chat
    kind: text
    task: chat
    name: Sandbox chat
    description: As slow as the message says.
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 0
    max_unit: tokens
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 8192
    input_schema: { type: object, properties: { messages: { type: array } } }
    example: { messages: [{ role: user, content: hello }] }
  - id: real/image
    kind: image
    task: text-to-image
    name: Sandbox image
    description: A picture.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    upstream_model: image
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat }
`;

const root = join(import.meta.dirname, '../../..');

/** `farebox serve`, API and worker, listening on a free port; by default of this repository. */
export async function startProcess(
  service: Service,
  env: Record<string, string> = {},
  repository = root,
): Promise<ServiceProcess> {
  const dir = join(service.dir, `process-${Math.random().toString(36).slice(2)}`);
  mkdirSync(join(dir, 'catalog'), { recursive: true });
  writeFileSync(join(dir, 'catalog', 'real.yaml'), catalog);
  const child = spawn(process.execPath, [join(repository, 'server/src/main.ts'), 'serve'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      PORT: '0',
      DATABASE_URL: service.databaseUrl,
      FAREBOX_DATA_DIR: dir,
      FAREBOX_CATALOG: join(dir, 'catalog'),
      FAREBOX_SECRET: 'a secret of at least thirty-two characters',
      FAREBOX_BASE_URL: 'http://localhost:1/v1',
      FAREBOX_UNSAFE_DATABASE: 'on',
      FAREBOX_DRAIN_SECONDS: '0',
      FAREBOX_SANDBOX: 'on',
      ...env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => (output += text));
  }
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal!));
  });
  const base = await listening(child, () => output);
  return {
    base,
    signal: (name) => void child.kill(name),
    ended,
    output: () => output,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function listening(child: ChildProcess, output: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', () => {
      const port = /^Farebox serves .+:(\d+)\.$/m.exec(output())?.[1];
      if (port) resolve(`http://127.0.0.1:${port}`);
    });
    child.once('exit', (code) =>
      reject(new Error(`it ended at its start with ${code}: ${output()}`)),
    );
  });
}
