import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { createBase58check } from '@scure/base';
import { HARDENED_OFFSET, HDKey } from '@scure/bip32';

/**
 * Deposit addresses, derived from the public key of a wallet's account (BIP 32). An address of
 * either family is 20 bytes. Here and in the database it is their hex in lower case, with `0x`.
 */

/** EVM chains share one address; TRON writes its own in base58. */
export type Family = 'evm' | 'tron';

/**
 * The path of a wallet's account in each family. Its deposit addresses are `0/i` below this path.
 */
export const accountPaths: Readonly<Record<Family, string>> = {
  evm: "m/44'/60'/0'",
  tron: "m/44'/195'/0'",
};

/**
 * The key of the trial's addresses, from the mnemonic "test test test test test test test test test
 * test test junk". Anybody has its private keys.
 */
export const playXpub =
  'xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP';

const accountDepth = 3;
const tronPrefix = 0x41;
const base58check = createBase58check(sha256);

/** Addresses of an account by index, from 0. */
export type AddressSource = (index: number) => string;

/** The public key of a family, and the addresses derived from it. */
export interface DepositKey {
  family: Family;
  xpub: string;
  addressAt: AddressSource;
}

/** Either the source of the addresses, or a sentence that says what is wrong with the key. */
export type XpubReading = { addressAt: AddressSource } | { problem: string };

/**
 * Reads an extended public key (`xpub…`) of the account level. The problem never contains the key:
 * it may be a private one.
 */
export function readXpub(text: string, family: Family): XpubReading {
  const path = accountPaths[family];
  if (/^[a-z]prv/.test(text))
    return {
      problem: `This is a private key, and anybody who has it can take every deposit. Remove it, and give the public key of the account ${path}, which begins with xpub.`,
    };
  if (/^([a-z]+\s+){11,23}[a-z]+$/i.test(text.trim()))
    return {
      problem: `These are the words of a wallet, and anybody who has them can take every deposit. Remove them, make a new wallet if somebody may have read them, and give the public key of the account ${path}, which begins with xpub.`,
    };
  if (!text.startsWith('xpub'))
    return {
      problem: `This is not an xpub. Export the public key of the account ${path}; it begins with xpub.`,
    };
  let account: HDKey;
  try {
    account = HDKey.fromExtendedKey(text);
  } catch {
    return { problem: 'This xpub has a wrong or missing character. Copy the whole key again.' };
  }
  if (account.depth !== accountDepth || account.index < HARDENED_OFFSET)
    return {
      problem: `This xpub is of level ${account.depth} of its wallet. Export the key of the account ${path}, which is of level ${accountDepth}.`,
    };
  const external = account.deriveChild(0);
  return { addressAt: remembering((index) => addressOf(external.deriveChild(index).publicKey!)) };
}

/** Maximum number of remembered addresses: about a megabyte. */
const rememberedMax = 10_000;

/**
 * Remembers addresses: deriving one takes a millisecond, and each call for a balance compares a
 * derived address with the stored one.
 */
function remembering(derive: AddressSource): AddressSource {
  const known = new Map<number, string>();
  return (index) => {
    const earlier = known.get(index);
    if (earlier !== undefined) return earlier;
    const [oldest] = known.keys();
    if (known.size >= rememberedMax) known.delete(oldest!);
    const address = derive(index);
    known.set(index, address);
    return address;
  };
}

/** The address as people write it: with its EIP-55 letters, or in TRON's base58. */
export function showAddress(address: string, family: Family): string {
  const digits = address.slice(2);
  if (family === 'tron')
    return base58check.encode(Uint8Array.of(tronPrefix, ...Buffer.from(digits, 'hex')));
  const sum = hexOf(keccak_256(Buffer.from(digits)));
  const shown = [...digits].map((digit, i) => (sum[i]! >= '8' ? digit.toUpperCase() : digit));
  return `0x${shown.join('')}`;
}

/**
 * The stored form of a typed address; null if a character is wrong. EVM addresses in lower case
 * only, or in upper case only, have no checksum and are taken as they are.
 */
export function parseAddress(text: string, family: Family): string | null {
  if (family === 'tron') {
    const bytes = base58Bytes(text);
    return bytes?.length === 21 && bytes[0] === tronPrefix ? `0x${hexOf(bytes.slice(1))}` : null;
  }
  if (!/^0x[0-9a-f]{40}$/i.test(text)) return null;
  const address = text.toLowerCase();
  const digits = text.slice(2);
  const hasChecksum = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  return hasChecksum && showAddress(address, 'evm') !== text ? null : address;
}

/** The last 20 bytes of the hash of the public key's two coordinates. */
function addressOf(publicKey: Uint8Array): string {
  const [, ...coordinates] = secp256k1.Point.fromBytes(publicKey).toBytes(false);
  return `0x${hexOf(keccak_256(Uint8Array.from(coordinates)).slice(-20))}`;
}

function base58Bytes(text: string): Uint8Array | null {
  try {
    return base58check.decode(text);
  } catch {
    return null;
  }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
