import type { Address } from '../../lib/address-of.ts';
import type { Figures } from '../../lib/metrics.ts';

/** Messages between the first process of `serve --processes` and those that serve. */

/** How one of the processes is started. */
export interface ProcessSetup {
  number: number;
  worker: boolean;
  json: boolean;
  /** The address that all processes share. */
  address: Address;
}

export type ToProcess =
  /** Comes with a connection. */
  | { type: 'take'; connection: number }
  /** Close your connections, then end. */
  | { type: 'retire' }
  /** Asks for the metrics of this process. */
  | { type: 'read'; question: number }
  /** The metrics of all processes. */
  | { type: 'all'; question: number; text: string };

export type FromProcess =
  | { type: 'serves' }
  /** Nothing was read of a connection before this. */
  | { type: 'took'; connection: number }
  | { type: 'closed' }
  /** It takes no more connections. */
  | { type: 'full' }
  | { type: 'figures'; question: number; figures: Figures }
  /** Asks for the metrics of all processes. */
  | { type: 'ask'; question: number };
