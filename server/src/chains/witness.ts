import type { Chain } from '../core/deposit/chain.ts';
import type { Rpc } from './rpc.ts';
import { confirmTransfer, readFinal, readHead, type Block } from './scan.ts';

export type KnownTransfer = Parameters<typeof confirmTransfer>[1];

/**
 * An endpoint that is asked during one read whether it knows transfers. After its first failure it
 * is not asked again, so that a hanging endpoint delays a read only once.
 */
export class Witness {
  readonly #chain: Chain;
  readonly #rpc: Rpc;
  /** Calls the endpoint. For each method, a call like the last one gets the same answer again. */
  readonly call: Rpc;
  #final: Promise<Block | null> | undefined;
  #failure: Promise<never> | undefined;

  /** `final`: the endpoint's newest final block, if it is already known. */
  constructor(chain: Chain, rpc: Rpc, final?: Block | null) {
    this.#chain = chain;
    this.#rpc = rpc;
    this.call = rememberLast(rpc);
    if (final !== undefined) this.#final = Promise.resolve(final);
  }

  /** Its newest final block; null while it has none. */
  final(): Promise<Block | null> {
    this.#final ??= readHead(this.#rpc).then((head) => readFinal(this.#rpc, this.#chain, head));
    return this.#final;
  }

  /**
   * The place of the transfer's log in its receipt; null if the endpoint does not confirm it, or
   * does not call its block final.
   */
  async place(transfer: KnownTransfer): Promise<number | null> {
    if (this.#failure) return this.#failure;
    try {
      const final = await this.final();
      // guard: both-endpoints-call-it-final
      if (final === null || transfer.block_height > final.height) return null;
      return await confirmTransfer(this.call, transfer);
    } catch (error) {
      this.#failure = Promise.reject(error);
      return this.#failure;
    }
  }

  /** Like `place`, but null if the endpoint does not answer. */
  placeOrNull(transfer: KnownTransfer): Promise<number | null> {
    return this.place(transfer).catch(() => null);
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
