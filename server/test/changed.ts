/** Finds the tests that a change concerns, by the imports that lead from a test to a changed file. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Project } from './layout/project.ts';

/** Types are erased before the code runs. */
const typesOnly = /^(?:import|export) type [^;]*;/gm;
/** Imports, threads, programs, and the files and folders that are read. */
const relativePath = /['"`](\.{1,2}\/[^'"`\s]*)['"`]/g;

/**
 * How many imports lead from each file to the nearest of the changed ones. Files that have nothing
 * to do with these are absent.
 */
export function stepsTo(changed: Iterable<string>, project: Project): Map<string, number> {
  const users = usersOf(project);
  const steps = new Map<string, number>();
  let next = new Set(changed);
  for (let step = 0; next.size > 0; step++) {
    for (const file of next) steps.set(file, step);
    const further = [...next].flatMap((file) =>
      withFolders(file).flatMap((at) => users.get(at) ?? []),
    );
    next = new Set(further.filter((file) => !steps.has(file)));
  }
  return steps;
}

/** The source files that name a path, by this path. */
function usersOf(project: Project): Map<string, string[]> {
  const users = new Map<string, string[]>();
  for (const [file, text] of project) {
    if (!/\.(ts|tsx|mjs|js)$/.test(file)) continue;
    for (const [, named] of text.replace(typesOnly, '').matchAll(relativePath)) {
      const target = path.posix.join(path.posix.dirname(file), named!).replace(/\/$/, '');
      // A file that names a folder above itself only finds its way.
      if (file.startsWith(`${target}/`) || target === '.') continue;
      users.set(target, [...(users.get(target) ?? []), file]);
    }
  }
  return users;
}

/** `a/b/c` → `a/b/c`, `a/b`, `a`: a file that reads a folder uses its files. */
function withFolders(file: string): string[] {
  return file.split('/').map((_, at, parts) => parts.slice(0, parts.length - at).join('/'));
}

/** Files that differ from a commit in the working tree, new ones included. */
export function changedSince(ref: string): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).split('\0');
  const all = [
    ...git('diff', '--name-only', '-z', ref, '--'),
    ...git('ls-files', '--others', '--exclude-standard', '-z'),
  ];
  return [...new Set(all)].filter((file) => file !== '');
}

/** An editor writes several files, or one in several steps. */
const settleMs = 50;

/** Calls back with the files below these folders that were just changed, until the signal fires. */
export function watchFolders(
  folders: string[],
  signal: AbortSignal,
  onChange: (files: string[]) => void,
): void {
  const seen = new Set<string>();
  for (const folder of folders)
    fs.watch(folder, { recursive: true, signal }, async (_, name) => {
      if (name === null) return;
      const isFirst = seen.size === 0;
      seen.add(path.join(folder, name));
      if (!isFirst) return;
      await pause(settleMs);
      onChange([...seen]);
      seen.clear();
    });
}
