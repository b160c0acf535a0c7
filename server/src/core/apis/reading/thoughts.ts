import { callsMax, type ThoughtPiece } from '../../chat/reply.ts';
import type { Say } from '../api.ts';

/** A piece of a thought as an upstream sends it. Values that it leaves out are absent. */
export type SentThought = Pick<ThoughtPiece, 'form' | 'text'> &
  Partial<Pick<ThoughtPiece, 'signature' | 'id' | 'format'>>;

export interface Thoughts {
  /** A piece of a thought that has neither proof nor id. */
  plain(text: string): void;
  /** A piece of the thought with this key. Data and what follows a signature are new thoughts. */
  piece(key: string, sent: SentThought): void;
  hasAny(): boolean;
}

/** Numbers the thoughts of a reply. */
export function replyThoughts(say: Say): Thoughts {
  const open = new Map<string, { index: number; format: string | null }>();
  let count = 0;
  let hasAny = false;
  /** The text since the last proof. */
  let said = '';

  function plain(text: string): void {
    if (text === '') return;
    hasAny = true;
    said += text;
    say({
      type: 'thought',
      form: 'text',
      text,
      signature: null,
      id: null,
      format: null,
      index: null,
    });
  }

  return {
    plain,
    hasAny: () => hasAny,
    piece(key, { form, text: sent, signature = null, id = null, format = null }) {
      if (sent === '' && signature === null) return;
      // Some servers repeat all of a thought with its signature.
      const isRepeat = signature !== null && sent.startsWith(said);
      const text = isRepeat ? sent.slice(said.length) : sent;
      const same = open.get(key);
      const isSame = same !== undefined && (same.format ?? format) === (format ?? same.format);
      // As with tool calls, a faulty upstream could begin a new thought in every piece.
      if (!isSame && count >= callsMax) return form === 'hidden' ? undefined : plain(text);
      const thought = isSame ? same : { index: count++, format };
      if (form === 'hidden' || signature !== null) open.delete(key);
      else open.set(key, thought);
      hasAny = true;
      if (form !== 'hidden') said = signature === null ? said + text : '';
      say({ type: 'thought', form, text, signature, id, format, index: thought.index });
    },
  };
}
