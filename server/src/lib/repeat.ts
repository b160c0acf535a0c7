export interface Repetition {
  /** Resolves when the first turn is over. */
  first: Promise<void>;
  /** No turn begins after this. Resolves when a running one is over. */
  stop(): Promise<void>;
}

/**
 * Takes turns until it is stopped: the first after `waitMs`, at once if that is left out, and each
 * further one as many milliseconds after the last as that returned. `turn` handles its own errors.
 * Waiting for a turn keeps no process alive.
 */
export function repeat(turn: () => Promise<number>, waitMs?: number): Repetition {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let running: Promise<void> = Promise.resolve();
  const wait = (ms: number) => {
    timer = setTimeout(() => (running = run()), ms).unref();
  };
  const run = async () => {
    const pauseMs = await turn();
    if (!isOver) wait(pauseMs);
  };
  if (waitMs === undefined) running = run();
  else wait(waitMs);
  return {
    first: running,
    async stop() {
      isOver = true;
      clearTimeout(timer);
      await running;
    },
  };
}
