import { fromJson, isObject, type Json } from '../../lib/json.ts';
import { isFilled } from '../check.ts';

/**
 * The signature of a thinking block and the data of a redacted one. Claude's are passed on as they
 * are. Those of other models also carry the id and the format that their servers ask back.
 */

interface Origin {
  id: string | null;
  format: string | null;
}

const claude = 'anthropic-claude-v1';
const mark = 'farebox1.';

export function packed(proof: string, { id, format }: Origin): string {
  if (id === null && (format ?? claude) === claude) return proof;
  return mark + Buffer.from(JSON.stringify({ proof, id, format })).toString('base64url');
}

/** A detail of the reasoning in OpenRouter's form. */
export function signedDetail(thought: unknown, signature: string): Json {
  const { proof, ...origin } = unpacked(signature);
  return { type: 'reasoning.text', text: thought, signature: proof, ...origin };
}

export function encryptedDetail(data: string): Json {
  const { proof, ...origin } = unpacked(data);
  return { type: 'reasoning.encrypted', data: proof, ...origin };
}

function unpacked(text: string): Json {
  const { proof, id, format } = contentOf(text);
  if (!isFilled(proof)) return { proof: text, format: claude };
  return { proof, ...(isFilled(id) && { id }), ...(isFilled(format) && { format }) };
}

function contentOf(text: string): Json {
  if (!text.startsWith(mark)) return {};
  try {
    const value = fromJson<unknown>(Buffer.from(text.slice(mark.length), 'base64url').toString());
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
