import { catalogDir, type Config } from '../config.ts';
import { codeOf, fieldOf } from '../lib/unknown.ts';
import { CommandFailed } from '../operations/refusal.ts';

/** Explains errors that an operator can correct; others are bugs and keep their stack. */
export function inWords(
  error: unknown,
  config: Config,
  setting: 'PORT' | 'FAREBOX_WORKER_PORT',
): unknown {
  const { HOST, [setting]: port } = config;
  const code = codeOf(error);
  const syscall = fieldOf(error, 'syscall');
  if (code === 'EADDRINUSE') {
    return new CommandFailed(
      `Port ${port} is taken by another program. Set ${setting} to a free one.`,
    );
  }
  if (syscall === 'listen' || syscall === 'getaddrinfo') {
    return new CommandFailed(
      `Cannot listen on ${HOST}:${port} (${code}). Set HOST and ${setting}.`,
    );
  }
  if (syscall === 'scandir') {
    return new CommandFailed(
      `Cannot read the catalog folder ${catalogDir(config)} (${code}). Set FAREBOX_CATALOG.`,
    );
  }
  return error;
}
