let offMs: number | null = null;

/** Shifts the clock of this process by this many milliseconds, until it is called again. */
export function setClockOff(ms: number): void {
  if (offMs === null) replaceDate();
  offMs = ms;
}

function replaceDate(): void {
  const Real = Date;
  class OffDate extends Real {
    constructor(...parts: unknown[]) {
      super(...((parts.length === 0 ? [OffDate.now()] : parts) as [number]));
    }
    static override now(): number {
      return Real.now() + offMs!;
    }
  }
  globalThis.Date = OffDate as DateConstructor;
}
