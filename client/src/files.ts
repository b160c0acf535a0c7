/** The file system, if there is one. */

type Files = typeof import('node:fs');

// Browsers have no such global.
const { process } = globalThis as {
  process?: { getBuiltinModule?(name: string): Files | undefined };
};

/** The name is in two parts, so that bundlers for browsers do not resolve it. */
export async function nodeFs(): Promise<Files> {
  const name = ['node', 'fs'].join(':');
  const known = process?.getBuiltinModule?.(name);
  // The name of a built-in module is all that its type depends on.
  return known ?? ((await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as Files);
}
