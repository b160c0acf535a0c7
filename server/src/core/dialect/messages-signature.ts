import type { Json } from '../../lib/json.ts';
import { isFilled } from '../check.ts';
import { claudeFormat } from '../chat/reasoning-details.ts';
import { pack, unpack } from './packed.ts';

/**
 * The signature of a thinking block and the data of a redacted one. Claude's are passed on as they
 * are. With other models, the text also holds the id and the format that their servers expect back.
 */

interface Origin {
  id: string | null;
  format: string | null;
}

export function packed(proof: string, { id, format }: Origin): string {
  if (id === null && (format ?? claudeFormat) === claudeFormat) return proof;
  return pack({ proof, id, format });
}

/** A detail of the reasoning in OpenRouter's form. Throws `bad_messages`, as `unpack` does. */
export function signedDetail(thought: unknown, signature: string, at: string): Json {
  const { proof, ...origin } = unpacked(signature, at);
  return { type: 'reasoning.text', text: thought, signature: proof, ...origin };
}

export function encryptedDetail(data: string, at: string): Json {
  const { proof, ...origin } = unpacked(data, at);
  return { type: 'reasoning.encrypted', data: proof, ...origin };
}

function unpacked(text: string, at: string): Json {
  const { proof, id, format } = unpack(text, at) ?? {};
  if (!isFilled(proof)) return { proof: text, format: claudeFormat };
  return { proof, ...(isFilled(id) && { id }), ...(isFilled(format) && { format }) };
}
