import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { codeOf, fieldOf, messageOf } from './lib/unknown.ts';
import { writeAtomically } from './lib/files/write-atomically.ts';
import { ConfigError, dataDir, type Config } from './config.ts';
import { secretMinLength } from './settings-rules.ts';

/** The secrets that sign links to outputs: given, or generated once and kept in the data folder. */

/** The signing secrets, newest first; the first one signs. */
export function signingSecrets(config: Config): Buffer[] {
  const previous = config.FAREBOX_SECRET_PREVIOUS;
  const secrets = [config.FAREBOX_SECRET ?? keptSecret(config) ?? makeSecret(config)];
  if (previous !== null) secrets.push(previous);
  return secrets.map((secret) => Buffer.from(secret));
}

/** The same without making one. */
export function knownSecrets(config: Config): Buffer[] {
  const known = [config.FAREBOX_SECRET ?? keptSecret(config), config.FAREBOX_SECRET_PREVIOUS];
  return known.flatMap((secret) => (secret === null ? [] : [Buffer.from(secret)]));
}

/**
 * The generated secret; null if there is none yet. Throws `ConfigError` if the file is incomplete.
 */
export function keptSecret(config: Config): string | null {
  const path = pathOf(config);
  const kept = inWords(path, () => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : null));
  if (kept === null) return null;
  if (kept.trim().length >= secretMinLength) return kept.trim();
  throw new ConfigError(
    `${path} holds no signing secret of at least ${secretMinLength} characters. Restore ` +
      'the file from a backup. Or remove the file: Farebox makes a new secret, and existing ' +
      'links to outputs stop working.',
  );
}

/**
 * Stores an imported secret; with `beside`, next to an existing one instead of replacing it.
 * Returns the path of its file.
 */
export function keepSecret(config: Config, secret: string, beside: boolean): string {
  const path = beside ? `${pathOf(config)}.imported` : pathOf(config);
  inWords(path, () => writeAtomically(path, secret, { replaces: true }));
  return path;
}

function makeSecret(config: Config): string {
  const path = pathOf(config);
  const secret = randomBytes(32).toString('hex');
  try {
    // If another process that starts in this folder is faster, its secret is used here too.
    inWords(path, () => writeAtomically(path, secret, { replaces: false }));
  } catch (error) {
    if (codeOf(fieldOf(error, 'cause')) !== 'EEXIST') throw error;
  }
  return keptSecret(config)!;
}

function pathOf(config: Config): string {
  return join(dataDir(config), 'secret');
}

function inWords<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const message = messageOf(cause);
    throw new ConfigError(`The signing secret in ${path}: ${message}`, { cause });
  }
}
