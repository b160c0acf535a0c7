import { watch, type FSWatcher } from 'node:fs';

export interface WatchOptions {
  dir: string;
  /**
   * Called after a change, once nothing more has changed for `debounceMs`, so that no half-saved
   * file is read.
   */
  onChange: () => void;
  /** Whether something has changed since the caller's last read; called every `pollMs`. */
  differs: () => Promise<boolean>;
  /** Called if the system cannot report changes; then the folder is only polled. */
  onSilence: (error: unknown) => void;
  /** Time without further changes before `onChange` is called. Default 100. */
  debounceMs?: number;
  /** How often `differs` is called. Default 5000. */
  pollMs?: number;
  /** False: only polls, for file systems with unreliable change notifications. */
  watch?: boolean;
}

/**
 * Watches a folder in two ways at once: the system's change notifications are quick, but some file
 * systems lack them and they may fail silently; polling is slow and always works. Returns a
 * function that stops both.
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
