import { randomBytes } from 'node:crypto';
import { accountPaths, readXpub, showAddress, type Family } from '../../core/deposit/address.ts';
import { xpubVariable } from '../../core/deposit/chain.ts';
import { accountXpub, mnemonicOf, readMnemonic } from '../../core/deposit/mnemonic.ts';
import { CommandFailed } from '../../operations/refusal.ts';
import type { Context, CommandOutput } from '../output.ts';

/** Prints the public keys of a wallet. Works offline, and stores nothing. */

/** Longer than any mnemonic. */
const typedMax = 1000;

export async function xpub(
  { read = false }: { read?: boolean },
  context: Context,
): Promise<CommandOutput> {
  if (context.json && !read)
    throw new CommandFailed(
      'A new mnemonic is for paper, so it is never part of --json. Leave --json out, or use --read.',
    );
  const mnemonic = read ? readMnemonic(await typed(context)) : mnemonicOf(randomBytes(32));
  if (mnemonic === null)
    throw new CommandFailed(
      'These are not the words of a wallet: one is wrong, missing or misplaced.',
    );
  // On stderr, so that a file that gets stdout contains only the public part.
  if (!read)
    context.err(
      `${mnemonic}\n\nThese words are your wallet. Write them on paper now: they are not stored and not shown again. Anybody who has them can take every deposit; without them nobody can.\n`,
    );
  const keys = (Object.keys(accountPaths) as Family[]).map((family) => keyOf(mnemonic, family));
  const lines = keys.map(({ family, xpub }) => `${xpubVariable(family)}=${xpub}`);
  const first = keys.map(({ path, first_address }) => `${path}/0/0  ${first_address}`);
  return { json: { keys }, text: [...lines, '', 'The first addresses:', ...first].join('\n') };
}

function keyOf(mnemonic: string, family: Family) {
  const xpub = accountXpub(mnemonic, family);
  const read = readXpub(xpub, family);
  if ('problem' in read) throw new Error(read.problem);
  const first_address = showAddress(read.addressAt(0), family);
  return { family, path: accountPaths[family], xpub, first_address };
}

/** A line from the terminal, which does not show it; or all of stdin. */
async function typed({ err }: Context): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY) {
    err('Type or paste the words of the wallet, then press Enter. They are not shown.');
    stdin.setRawMode(true);
  }
  let text = '';
  try {
    for await (const part of stdin.setEncoding('utf8')) {
      text += part;
      if (text.includes('\u0003')) throw new CommandFailed('Cancelled.');
      if (text.length > typedMax)
        throw new CommandFailed('That is longer than the words of a wallet.');
      if (stdin.isTTY && ['\r', '\n', '\u0004'].some((end) => text.includes(end))) break;
    }
  } finally {
    if (stdin.isTTY) stdin.setRawMode(false);
  }
  return withoutErased(text);
}

/** The text after its backspaces. */
function withoutErased(text: string): string {
  const kept: string[] = [];
  for (const char of text)
    if (char === '\u007f' || char === '\b') kept.pop();
    else if (char !== '\u0004') kept.push(char);
  return kept.join('');
}
