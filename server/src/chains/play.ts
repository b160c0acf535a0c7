import { createHash, randomBytes } from 'node:crypto';
import { itemsOf, objectOf, type Json } from '../lib/json.ts';
import type { Chain } from '../core/deposit/chain.ts';
import { RpcError, type Rpc } from './rpc.ts';
import { decimalsCall, hexOf, topicOf, transferTopic, wordOf } from './wire.ts';

/**
 * A blockchain inside the process, for the trial and for tests. It answers the calls that `scan.ts`
 * makes. A block's hash depends only on its height and its fork, so a restarted trial goes on with
 * the same blocks; only payments that were not final are lost.
 */

interface Payment {
  tx_hash: string;
  token: string;
  from: string;
  to: string;
  units: bigint;
}

interface MinedPayment extends Payment {
  height: bigint;
}

export interface PlayOptions {
  chain: Chain;
  /** The height of the newest block. */
  head: () => bigint;
  /** When the block of a height was made. */
  timeOf: (height: bigint) => Date;
}

const sender = `0x${'fa'.repeat(20)}`;

export class PlayChain {
  readonly #options: PlayOptions;
  /** Payments of each block that has some, in the order of their logs. */
  readonly #blocks = new Map<bigint, MinedPayment[]>();
  readonly #transactions = new Map<string, MinedPayment[]>();
  /** Reorgs: from each of these heights on, the blocks are of another fork. */
  readonly #forks: bigint[] = [];

  constructor(options: PlayOptions) {
    this.#options = options;
  }

  /** Sends tokens. The next block has the transfer. Returns the hash of its transaction. */
  pay(payment: Pick<Payment, 'token' | 'to' | 'units'> & { tx_hash?: string }): string {
    const { tx_hash = `0x${randomBytes(32).toString('hex')}` } = payment;
    this.#include({ ...payment, tx_hash, from: sender });
    return tx_hash;
  }

  /**
   * Replaces the newest blocks. Their transactions move to the next block in another order, or are
   * dropped.
   */
  reorg(depth: number, payments: 'paid later' | 'dropped'): void {
    const from = this.#options.head() - BigInt(depth) + 1n;
    this.#forks.push(from);
    const undone = new Map<string, MinedPayment[]>();
    for (const [height, paid] of this.#blocks) {
      if (height < from) continue;
      this.#blocks.delete(height);
      for (const { tx_hash } of paid) undone.set(tx_hash, this.#transactions.get(tx_hash)!);
    }
    for (const tx_hash of undone.keys()) this.#transactions.delete(tx_hash);
    if (payments === 'dropped') return;
    for (const payment of [...undone.values()].toReversed().flat()) this.#include(payment);
  }

  /** The next block has the payment. */
  #include(payment: Payment): void {
    const mined = { ...payment, height: this.#options.head() + 1n };
    append(this.#blocks, mined.height, mined);
    append(this.#transactions, mined.tx_hash, mined);
  }

  readonly rpc: Rpc = (method, params = []) =>
    Promise.resolve().then(() => this.#answer(method, params));

  #answer(method: string, [first]: readonly unknown[]): unknown {
    const head = this.#options.head();
    switch (method) {
      case 'eth_chainId':
        return hexOf(BigInt(this.#options.chain.chain_id));
      case 'eth_blockNumber':
        return hexOf(head);
      case 'eth_getBlockByNumber': {
        const height = first === 'finalized' ? this.#final(head) : BigInt(String(first));
        return height < 0n || height > head ? null : this.#block(height);
      }
      case 'eth_getLogs':
        return this.#logs(objectOf(first), head);
      case 'eth_call':
        return this.#decimals(objectOf(first));
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(first), head);
      default:
        throw new RpcError(method, -32601, 'the method does not exist');
    }
  }

  #final(head: bigint): bigint {
    const { finality } = this.#options.chain;
    return head - BigInt(finality === 'finalized' ? 1 : finality.confirmations);
  }

  #decimals({ to, data }: Json): string {
    const token = this.#options.chain.tokens.find(({ address }) => address === to);
    if (!token || data !== decimalsCall) return '0x';
    return wordOf(BigInt(token.decimals));
  }

  #block(height: bigint) {
    const timestamp = BigInt(Math.floor(this.#options.timeOf(height).getTime() / 1000));
    return { number: hexOf(height), hash: this.#hashOf(height), timestamp: hexOf(timestamp) };
  }

  #hashOf(height: bigint): string {
    const fork = this.#forks.filter((from) => height >= from).length;
    const name = `${this.#options.chain.chain_id} ${height} ${fork}`;
    return `0x${createHash('sha256').update(name).digest('hex')}`;
  }

  #logs(filter: Json, head: bigint) {
    const [low, high] = [BigInt(String(filter.fromBlock)), BigInt(String(filter.toBlock))];
    const tokens = new Set([filter.address].flat());
    const [, , topics] = itemsOf(filter.topics);
    const wanted = topics === undefined ? null : new Set(itemsOf(topics));
    const logs = [];
    for (let height = low; height <= high && height <= head; height += 1n)
      for (const [i, paid] of (this.#blocks.get(height) ?? []).entries())
        if (tokens.has(paid.token) && (wanted?.has(topicOf(paid.to)) ?? true))
          logs.push(this.#log(paid, i));
    return logs;
  }

  #receipt(tx_hash: string, head: bigint) {
    const paid = this.#transactions.get(tx_hash);
    const [first] = paid ?? [];
    if (!paid || !first || first.height > head) return null;
    const block = this.#blocks.get(first.height) ?? [];
    return {
      status: '0x1',
      blockNumber: hexOf(first.height),
      blockHash: this.#hashOf(first.height),
      logs: paid.map((each) => this.#log(each, block.indexOf(each))),
    };
  }

  #log(payment: MinedPayment, index: number) {
    const { height, token, from, to, units, tx_hash } = payment;
    return {
      address: token,
      topics: [transferTopic, topicOf(from), topicOf(to)],
      data: wordOf(units),
      blockNumber: hexOf(height),
      blockHash: this.#hashOf(height),
      transactionHash: tx_hash,
      logIndex: hexOf(BigInt(index)),
      removed: false,
    };
  }
}

function append<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
