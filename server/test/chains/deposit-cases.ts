import { chainCases } from './chain-cases.ts';
import { doubtCases } from './doubt-cases.ts';
import { endpointCases } from './endpoint-cases.ts';
import { lyingCases } from './lying-cases.ts';
import { payerCases } from './payer-cases.ts';
import type { Scene } from './scene.ts';

/** A history of a chain, and the deposits at its end. */
export interface DepositCase {
  /** Plays the history; asserts on the way what must not have happened yet. */
  history(scene: Scene): Promise<void>;
  /** States of the deposits at the end. Default: each payment is credited. */
  deposits?: string[];
  /** Something that a real node cannot do, or not within a test. */
  needs?: 'many blocks' | 'hashes of choice';
}

/** All cases. Transfers inside an exchange are on no chain, so none tests them. */
export const depositCases: Readonly<Record<string, DepositCase>> = {
  ...chainCases,
  ...doubtCases,
  ...endpointCases,
  ...lyingCases,
  ...payerCases,
};
