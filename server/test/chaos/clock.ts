/** Shifts the clock of this process by this many milliseconds. */
export function setClockOff(ms: number): void {
  const Real = Date;
  class OffDate extends Real {
    constructor(...parts: unknown[]) {
      super(...((parts.length === 0 ? [OffDate.now()] : parts) as [number]));
    }
    static override now(): number {
      return Real.now() + ms;
    }
  }
  globalThis.Date = OffDate as DateConstructor;
}
