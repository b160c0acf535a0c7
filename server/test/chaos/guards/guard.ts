/**
 * A guard of the service, with the edit that takes it away and the test that has to notice. All
 * paths are below `server/`.
 */
export interface Guard {
  /** The law, in words. */
  guards: string;
  /** The file that is spoiled. */
  file: string;
  /** Old text, found exactly once, and new text. */
  edits: [from: string, to: string][];
  /** The test file that must turn red. */
  test: string;
  /** A part of the test's name as it is written there, or the name of its group. */
  name: string;
}

/** How a claim of a due request goes on. */
export const dueWake = "wake_at = now() + ${leaseSeconds} * interval '1 s'\n    from due";
