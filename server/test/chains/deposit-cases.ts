import { chainCases } from './chain-cases.ts';
import { doubtCases } from './doubt-cases.ts';
import { endpointCases } from './endpoint-cases.ts';
import { lyingCases } from './lying-cases.ts';
import { payerCases } from './payer-cases.ts';
import type { DepositCase } from './scene.ts';

/** All cases. Transfers inside an exchange are on no chain, so none tests them. */
export const depositCases: Readonly<Record<string, DepositCase>> = {
  ...chainCases,
  ...doubtCases,
  ...endpointCases,
  ...lyingCases,
  ...payerCases,
};
