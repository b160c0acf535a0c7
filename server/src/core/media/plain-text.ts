/**
 * Checks chunk by chunk that a file is plain text: UTF-8 without control characters other than tab,
 * line feed and carriage return.
 */
export interface TextCheck {
  /** False as soon as the bytes so far cannot be the beginning of a plain text. */
  takes(chunk: Uint8Array): boolean;
  /** False if the text stops in the middle of a character. */
  ends(): boolean;
}

export function plainText(): TextCheck {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decodes = (work: () => void): boolean => {
    try {
      work();
      return true;
    } catch {
      return false;
    }
  };
  return {
    takes: (chunk) =>
      !chunk.some(isControl) && decodes(() => decoder.decode(chunk, { stream: true })),
    ends: () => decodes(() => decoder.decode()),
  };
}

export function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) || byte === 0x7f;
}
