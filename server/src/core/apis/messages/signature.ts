import { isFilled } from '../../check.ts';
import { pack, unpack } from '../packed.ts';
import { claudeFormat, type Thought } from '../thoughts.ts';

/**
 * The signature of a thinking block and the data of a redacted one. Claude's are passed on as they
 * are. With other models, the text also holds the id and the format that their servers expect back.
 */

type Origin = Pick<Thought, 'id' | 'format'>;

export function packed(proof: string, { id, format }: Origin): string {
  if (id === null && (format ?? claudeFormat) === claudeFormat) return proof;
  return pack({ proof, id, format });
}

/** The proof and its origin. Throws `bad_messages`, as `unpack` does. */
export function unpacked(text: string, at: string): Origin & { proof: string } {
  const { proof, id, format } = unpack(text, at) ?? {};
  if (!isFilled(proof)) return { proof: text, id: null, format: claudeFormat };
  return { proof, id: isFilled(id) ? id : null, format: isFilled(format) ? format : null };
}
