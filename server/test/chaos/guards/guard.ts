/**
 * A guard of the service, the edit that removes it, and the test that must fail then. All paths are
 * below `server/`.
 */
export interface Guard {
  /** The law, in words. */
  guards: string;
  /** The file to edit. */
  file: string;
  /** The old text, found exactly once, and the new text. */
  edits: [from: string, to: string][];
  /** The test file that must fail. */
  test: string;
  /** A part of the test's name as written there, or the name of its group. */
  name: string;
}

/** A part of the statement that claims due requests. */
export const dueWake = "wake_at = now() + ${leaseSeconds} * interval '1 s'\n    from due";
