import { HDKey } from '@scure/bip32';
import { entropyToMnemonic, mnemonicToSeedSync, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { accountPaths, type Family } from './address.ts';

/** The words of a wallet (BIP 39). Only a command sees them, never the service. */

/** 24 words for 32 random bytes. */
export function mnemonicOf(entropy: Uint8Array): string {
  return entropyToMnemonic(entropy, wordlist);
}

/** The words in lower case with one space between them; null if a word or the checksum is wrong. */
export function readMnemonic(text: string): string | null {
  const words = text.normalize('NFKD').trim().toLowerCase().split(/\s+/).join(' ');
  return validateMnemonic(words, wordlist) ? words : null;
}

/** The public key of a family's account. */
export function accountXpub(mnemonic: string, family: Family): string {
  const account = HDKey.fromMasterSeed(mnemonicToSeedSync(mnemonic)).derive(accountPaths[family]);
  return account.publicExtendedKey;
}
