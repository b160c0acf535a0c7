import { watch, type FSWatcher } from 'node:fs';

export interface WatchOptions {
  dir: string;
  /** Called once nothing has changed for a while, so that no half-saved file is read. */
  onChange: () => void;
  /** Whether something changed since the caller's last reading; called now and then. */
  differs: () => Promise<boolean>;
  /** The system reports no changes; the folder is only polled. */
  onSilence: (error: unknown) => void;
  /** Quiet time after a change. Default 100. */
  debounceMs?: number;
  /** How often `differs` is called. Default 5000. */
  pollMs?: number;
  /** False: only polls, for file systems with unreliable notices. */
  watch?: boolean;
}

/**
 * Watches a folder in two ways at once: the system's notices are quick, but do not exist on every
 * file system and may fail silently; polling is slow and always works. Returns a function that ends
 * it.
 */
export function watchFolder({
  dir,
  onChange,
  differs,
  onSilence,
  debounceMs = 100,
  pollMs = 5000,
  watch: notices = true,
}: WatchOptions): () => void {
  let debounce: NodeJS.Timeout | undefined;
  let closed = false;
  const touched = () => {
    if (closed) return;
    clearTimeout(debounce);
    debounce = setTimeout(onChange, debounceMs).unref();
  };
  const poll = setInterval(async () => {
    if (await differs()) touched();
  }, pollMs).unref();
  let watcher: FSWatcher | undefined;
  try {
    if (notices) watcher = watch(dir, { persistent: false }, touched).on('error', onSilence);
  } catch (error) {
    onSilence(error);
  }
  return () => {
    closed = true;
    clearTimeout(debounce);
    clearInterval(poll);
    watcher?.close();
  };
}
