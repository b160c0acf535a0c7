import { RpcError } from './rpc.ts';

/** Learns how many blocks and addresses an endpoint takes in one question. */

export interface QuestionSize {
  blocks: number;
  addresses: number;
}

/** Most endpoints take 2,000 blocks or more. Some take any number of addresses. */
export const firstQuestion: QuestionSize = { blocks: 2_000, addresses: 10_000 };
/** Nodes take this many addresses. A larger question that is refused is repeated with this many. */
const usualAddresses = 1_000;
/** After this many answers the questions grow again, because only some ranges are crowded. */
const growsAfter = 20;

const tooManyAddresses =
  /max (addresses|topics)|too many (topics|addresses)|maximum of [\d,]+ parameters/i;
const tooMuch =
  /range|limit|too (many|large|big|wide)|more than|exceed|size|time[d ]?-?out|10000 results/i;
const namedBlocks =
  /(?:limit of|block range:|up to a|maximum(?: is| of)?:?|limited to(?: a)?) ?([\d,]+)/i;
const namedTopics = /topics: ?([\d,]+)|maximum of ([\d,]+) parameters/i;
/**
 * Codes of refusals that may be about the size. -32005 means "too many results" at some endpoints
 * and "too many requests" at others; a smaller question is right for both.
 */
const sizeCodes = new Set([-32005, -32602, -32000, -32600, 400, 413]);

export class QuestionLimits {
  #now: QuestionSize = { ...firstQuestion };
  /** The largest question to try. A limit that the endpoint has named is never exceeded again. */
  #most: QuestionSize = { ...firstQuestion };
  #answers = 0;

  get blocks(): number {
    return this.#now.blocks;
  }

  get addresses(): number {
    return this.#now.addresses;
  }

  answered(): void {
    this.#answers += 1;
    if (this.#answers < growsAfter) return;
    this.#answers = 0;
    this.#now = {
      blocks: Math.min(this.#most.blocks, this.#now.blocks * 2),
      addresses: Math.min(this.#most.addresses, this.#now.addresses * 2),
    };
  }

  /** Makes the next question smaller. False: the refusal was not about the size. */
  refused(error: unknown, asked: QuestionSize): boolean {
    if (!(error instanceof RpcError)) return false;
    this.#answers = 0;
    const { code, text } = error;
    const isTry = asked.addresses > usualAddresses;
    if (tooManyAddresses.test(text) && asked.addresses > 1) {
      const named = namedIn(namedTopics, text);
      const isNamed = named !== null && named < asked.addresses;
      return this.#shrink('addresses', asked, isTry && !isNamed ? usualAddresses : named);
    }
    // No reply came. The next read asks for less; this read ends, because an endpoint that hangs
    // would delay it for long.
    if (code === null) {
      if (isTry) this.#shrink('addresses', asked, usualAddresses);
      else if (asked.blocks > 1) this.#shrink('blocks', asked, null);
      return false;
    }
    const isOfSize = sizeCodes.has(code) && tooMuch.test(text);
    const named = isOfSize && /range|block/i.test(text) ? namedIn(namedBlocks, text) : null;
    if (isTry && named === null) {
      this.#now.addresses = usualAddresses;
      return true;
    }
    if (!isOfSize) return false;
    if (asked.blocks > 1) return this.#shrink('blocks', asked, named);
    return asked.addresses > 1 && this.#shrink('addresses', asked, null);
  }

  #shrink(part: keyof QuestionSize, asked: QuestionSize, named: number | null): true {
    const isRule = named !== null && named > 0 && named < asked[part];
    this.#now[part] = isRule ? named : Math.floor(asked[part] / 2);
    if (isRule) this.#most[part] = named;
    return true;
  }
}

function namedIn(pattern: RegExp, text: string): number | null {
  const [, ...groups] = pattern.exec(text) ?? [];
  const found = groups.find((group) => group !== undefined);
  return found === undefined ? null : Number(found.replaceAll(',', ''));
}
