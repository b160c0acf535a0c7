/** A transfer of one of a chain's tokens to an address that is watched. */
interface FoundTransfer {
  tx_hash: string;
  block_height: bigint;
  block_hash: string;
  token: string;
  from_address: string;
  to_address: string;
  /** In the smallest unit of the token. */
  units: bigint;
}

/** A transfer in a block that may still be replaced. */
export interface SeenTransfer extends FoundTransfer {
  /** The number of its log in the block, which a reorg may change. */
  block_log_index: number;
}

/** A range of blocks; both ends are included. */
export interface BlockRange {
  from: bigint;
  to: bigint;
}

export interface FinalTransfer extends FoundTransfer {
  /** The number of its log in the block; null: not known. */
  block_log_index: number | null;
  /** The place of its log among the logs of the receipt, from 0; null: no receipt has it yet. */
  log_position: number | null;
  block_at: Date;
  /** Every endpoint of the chain knows it. */
  is_confirmed: boolean;
}
