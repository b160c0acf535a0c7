import type { Json } from '../../lib/json.ts';

/** A message of the chat body, and where it was in the call. */
export interface Turn {
  message: Json;
  at: string;
  /** The parts that an error may name; empty if errors name the whole message. */
  parts: Part[];
}

/** A part of a chat message, and where it was in the call. */
export interface Part {
  part: Json;
  at: string;
  /** The caller's names of the part's fields, such as `source.url` for `url` of an image. */
  fields?: Readonly<Record<string, string>>;
}

/**
 * The caller's path for a path such as `messages[1].content[0].image_url.url`; null if there is no
 * such message.
 */
export function pathIn(turns: Turn[], param: string): string | null {
  const place = /^messages\[(\d+)\](?:\.content\[(\d+)\](?:\.(?:image_url|file)\.(\w+))?)?/;
  const [, message, index, field] = place.exec(param) ?? [];
  const turn = turns[Number(message)];
  const part = turn?.parts[Number(index)];
  if (part === undefined) return turn?.at ?? null;
  const own = part.fields?.[field ?? ''];
  return own === undefined ? part.at : `${part.at}.${own}`;
}
