import type { Chain } from '../core/deposit/chain.ts';
import { readReceived, type ReceivedTransfer, type WantedTransfer } from './receipts.ts';
import { RpcError, type Rpc } from './rpc.ts';
import { readFinal, readHead, type ChainBlock } from './scan.ts';

/** After this many failures in a row an endpoint is not asked again. */
const failuresMax = 3;

/**
 * An endpoint that is asked during one read whether it knows transfers. If it does not answer, it
 * is not asked again, so that a hanging endpoint delays a read only once.
 */
export class Witness {
  readonly #chain: Chain;
  readonly #rpc: Rpc;
  /** Calls the endpoint. For each method, a call like the last one gets the same answer again. */
  readonly #call: Rpc;
  #final: Promise<ChainBlock | null> | undefined;
  #failures = new Set<RpcError>();
  #hasGivenUp = false;

  /** `readFinal`: the endpoint's newest final block, if it is already known. */
  constructor(chain: Chain, rpc: Rpc, final?: ChainBlock | null) {
    this.#chain = chain;
    this.#rpc = rpc;
    this.#call = rememberLast(rpc);
    if (final !== undefined) this.#final = Promise.resolve(final);
  }

  /** Its newest final block; null while it has none. */
  readFinal(): Promise<ChainBlock | null> {
    this.#final ??= readHead(this.#rpc).then((head) => readFinal(this.#rpc, this.#chain, head));
    return this.#final;
  }

  /**
   * The transfer as its receipt has it; null if the endpoint does not confirm it, or does not call
   * its block final. Rejects with `BadAnswer`, or with `RpcError` if the endpoint fails.
   */
  async readReceived(transfer: WantedTransfer): Promise<ReceivedTransfer | null> {
    const [failure] = this.#failures;
    if (failure && this.#hasGivenUp) throw failure;
    try {
      const final = await this.readFinal();
      // guard: both-endpoints-call-it-final
      if (final === null || transfer.block_height > final.height) return null;
      const received = await readReceived(this.#call, transfer);
      // guard: both-endpoints-call-it-final
      if (received && received.block_height > final.height) return null;
      this.#failures.clear();
      return received;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      this.#failures.add(error);
      this.#hasGivenUp ||= error.code === null || this.#failures.size >= failuresMax;
      throw error;
    }
  }

  /** Like `readReceived`, but null if the endpoint does not answer, or not well. */
  readReceivedOrNull(transfer: WantedTransfer): Promise<ReceivedTransfer | null> {
    return this.readReceived(transfer).catch(() => null);
  }
}

/** Saves calls, because transfers of one block or transaction come together. */
function rememberLast(rpc: Rpc): Rpc {
  const last = new Map<string, { asked: string; answer: Promise<unknown> }>();
  return (method, params = []) => {
    const asked = JSON.stringify(params);
    const known = last.get(method);
    if (known?.asked === asked) return known.answer;
    const answer = rpc(method, params);
    last.set(method, { asked, answer });
    return answer;
  };
}
