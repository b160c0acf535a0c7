import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { dataDir, type Config } from './config.ts';

/**
 * Remembers, in the data folder, which folders have held media. A media folder may be a disk's
 * mount point; while the disk is not mounted, no new folder is made in its place.
 */

/** The folder of media that are kept on a disk; null if they are kept elsewhere. */
export function mediaFolder(config: Config): string | null {
  const { FAREBOX_STORAGE: address } = config;
  if (address === 'disk') return join(dataDir(config), 'media');
  return address.startsWith('disk:') ? resolve(address.slice('disk:'.length)) : null;
}

export function isKnownFolder(config: Config): boolean {
  const folder = mediaFolder(config);
  return folder !== null && known(config).includes(folder);
}

/** Call this only when the media folder exists. */
export function rememberFolder(config: Config): void {
  const folder = mediaFolder(config);
  if (folder === null || isKnownFolder(config)) return;
  const part = `${pathOf(config)}.${process.pid}.part`;
  writeFileSync(part, JSON.stringify([...known(config), folder]), { mode: 0o600 });
  renameSync(part, pathOf(config));
}

/** An unreadable list counts as empty, because only this service writes it. */
function known(config: Config): string[] {
  try {
    const folders: unknown = JSON.parse(readFileSync(pathOf(config), 'utf8'));
    return Array.isArray(folders) ? folders.filter((each) => typeof each === 'string') : [];
  } catch {
    return [];
  }
}

function pathOf(config: Config): string {
  return join(dataDir(config), 'media-folders.json');
}
