import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { S3mini } from 's3mini';
import { besideLibraries, debianPackage } from './debian.ts';

/** OpenStack Swift: a store of others with the interface of S3, which checks signatures and rights. */
export interface Swift {
  port: number;
  /** A client that bypasses ours. */
  client: S3mini;
  close(): Promise<void>;
}

export const swiftRegion = 'eu-test-1';
export const swiftBucket = 'media';
export const swiftSecret = 'se/cr+et';
/** May do all. */
export const swiftOwner = { accessKeyId: 'farebox:owner', secretAccessKey: swiftSecret };
/** Has a key, but no rights to the bucket. */
export const swiftStranger = { accessKeyId: 'farebox:stranger', secretAccessKey: swiftSecret };

const needs = [
  'liberasurecode1',
  ...[
    'certifi',
    'cffi-backend',
    'chardet',
    'dnspython',
    'eventlet',
    'greenlet',
    'idna',
    'lxml',
    'netifaces',
    'pastedeploy',
    'pkg-resources',
    'pyeclib',
    'requests',
    'six',
    'urllib3',
    'xattr',
  ].map((name) => `python3-${name}`),
];

/** The unpacked packages; null where they cannot be fetched. */
export const swiftPackages = () => debianPackage('python3-swift', needs);

/** Starts it with an empty bucket, with the system's Python, which its packages are made for. */
export async function openSwift(unpacked: string): Promise<Swift> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-swift-'));
  const program = join(import.meta.dirname, 'swift.py');
  const child = spawn('/usr/bin/python3', [program, folder, swiftRegion], {
    env: besideLibraries(unpacked),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => (said += text));
  const ended = once(child, 'exit');
  const [first] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  const port = Number(first);
  if (child.exitCode !== null || !port) throw new Error(`Swift did not start: ${said}`);
  const endpoint = `http://127.0.0.1:${port}/${swiftBucket}`;
  const client = new S3mini({ ...swiftOwner, endpoint, region: swiftRegion });
  await client.createBucket();
  return {
    port,
    client,
    async close() {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
