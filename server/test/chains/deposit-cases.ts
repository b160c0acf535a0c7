import { chainCases } from './chain-cases.ts';
import { endpointCases } from './endpoint-cases.ts';
import { lyingCases } from './lying-cases.ts';
import { payerCases } from './payer-cases.ts';
import type { Scene } from './scene.ts';

/** A history of a chain, and what becomes of the deposits. */
export interface DepositCase {
  /** Says on the way what must not have happened yet. */
  history(scene: Scene): Promise<void>;
  /** The deposits at the end. Usually each payment is one that is credited. */
  deposits?: string[];
  /** Something that a node cannot do, or not within a test. */
  needs?: 'many blocks' | 'hashes of choice';
}

/** A transfer inside of an exchange is on no chain, so there is no case of it. */
export const depositCases: Readonly<Record<string, DepositCase>> = {
  ...chainCases,
  ...endpointCases,
  ...lyingCases,
  ...payerCases,
};
