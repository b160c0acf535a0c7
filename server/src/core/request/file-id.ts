import { dashless, isUuid, withDashes } from '../../lib/id.ts';

/**
 * The public form of an uploaded file's id: `file_` and the UUID without its dashes.
 *
 * @throws RangeError if it is not a UUID.
 */
export function fileId(uuid: string): string {
  if (!isUuid(uuid)) throw new RangeError('a file id is made of a UUID');
  return `file_${dashless(uuid)}`;
}

/**
 * The UUID in a file id, or null if the value is not a file id. Only the exact spelling is
 * accepted.
 */
export function parseFileId(value: unknown): string | null {
  if (typeof value !== 'string' || value.length !== 37) return null;
  const hex = /^file_([0-9a-f]{32})$/.exec(value)?.[1];
  return hex === undefined ? null : withDashes(hex);
}
