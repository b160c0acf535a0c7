/** The file system, if there is one. */

type Files = typeof import('node:fs');

// Browsers have no such global.
const { process } = globalThis as {
  process?: { getBuiltinModule?(name: string): Files | undefined };
};

/** The name is assembled, so that bundlers for browsers do not resolve it. */
export async function nodeFs(): Promise<Files> {
  const name = ['node', 'fs'].join(':');
  const known = process?.getBuiltinModule?.(name);
  // TypeScript cannot tell the type of a module whose name is computed.
  return known ?? ((await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as Files);
}
