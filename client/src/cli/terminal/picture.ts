import { readFile } from 'node:fs/promises';

/** Images inside the terminal, if it supports a protocol for them. */

/** A larger image would take too long to write. */
const bytesMost = 8_000_000;
const rowsMost = 16;
/** The payload of one escape sequence in kitty's protocol. */
const partBytes = 4096;

export type Protocol = 'iterm' | 'kitty';

/** Null under multiplexers, which swallow the sequences or show them as text. */
export function protocolOf(env: NodeJS.ProcessEnv): Protocol | null {
  const { TERM = '', TERM_PROGRAM = '', LC_TERMINAL = '' } = env;
  if (env.TMUX || env.STY || /^(screen|tmux|dumb)/.test(TERM)) return null;
  if (env.KITTY_WINDOW_ID || /kitty|ghostty/.test(TERM) || TERM_PROGRAM === 'ghostty')
    return 'kitty';
  const isIterm =
    /^(iTerm\.app|WezTerm|mintty|rio)$/.test(TERM_PROGRAM) || LC_TERMINAL === 'iTerm2';
  return isIterm ? 'iterm' : null;
}

export async function showPicture(path: string, type: string, size: number): Promise<void> {
  const protocol = protocolOf(process.env);
  if (protocol === null || size > bytesMost || !process.stdout.isTTY) return;
  // Kitty accepts only PNG and raw pixels.
  if (protocol === 'kitty' ? type !== 'image/png' : !/^image\/(png|jpeg|gif|webp)$/.test(type))
    return;
  process.stdout.write(`${pictureText(protocol, await readFile(path))}\n`);
}

export function pictureText(protocol: Protocol, bytes: Buffer): string {
  const text = bytes.toString('base64');
  if (protocol === 'iterm') {
    const how = `inline=1;size=${bytes.length};height=${rowsMost};preserveAspectRatio=1`;
    return `\u001B]1337;File=${how}:${text}\u0007`;
  }
  const parts = text.match(new RegExp(`.{1,${partBytes}}`, 'g')) ?? [];
  return parts
    .map((part, at) => {
      const more = at < parts.length - 1 ? 1 : 0;
      const head = at === 0 ? `a=T,f=100,r=${rowsMost},m=${more}` : `m=${more}`;
      return `\u001B_G${head};${part}\u001B\\`;
    })
    .join('');
}
