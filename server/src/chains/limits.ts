import { errorOf } from '../lib/unknown.ts';
import { RpcError } from './rpc.ts';

/** Learns how many blocks and addresses an endpoint takes in one question. */

export interface QuestionSize {
  blocks: number;
  addresses: number;
}

/** Most endpoints take 2,000 blocks or more. Some take any number of addresses. */
export const firstQuestion: QuestionSize = { blocks: 2_000, addresses: 10_000 };
const smallestQuestion: QuestionSize = { blocks: 1, addresses: 1 };
/** Nodes take this many addresses. A larger question that is refused is repeated with this many. */
const usualAddresses = 1_000;
/**
 * After so many answers the questions grow again, because a limit may change, and only some ranges
 * are crowded. The number is larger for an endpoint that refuses what has grown.
 */
const growsAfter = { least: 20, most: 320 };

/** Whether a refusal in these words may name the number that the endpoint takes. */
const isNaming = { blocks: /block|range/i, addresses: /address|topic|param/i };

/** Asks a question of this size at the place where a larger one was refused. */
export type AskSized = (size: QuestionSize) => Promise<unknown>;

export class QuestionLimits {
  #now: QuestionSize = { ...firstQuestion };
  #growsAfter = growsAfter.least;
  #hasGrown = false;
  #answers = 0;

  get blocks(): number {
    return this.#now.blocks;
  }

  get addresses(): number {
    return this.#now.addresses;
  }

  noteAnswer(): void {
    this.#answers += 1;
    if (this.#answers < this.#growsAfter) return;
    this.#answers = 0;
    this.#hasGrown = true;
    this.#growsAfter = Math.max(growsAfter.least, this.#growsAfter / 2);
    this.#now = {
      blocks: Math.min(firstQuestion.blocks, this.#now.blocks * 2),
      addresses: Math.min(firstQuestion.addresses, this.#now.addresses * 2),
    };
  }

  /**
   * Makes the next questions smaller if that helps, whatever the words of the refusal: endpoints
   * have too many of them. The same words may mean an outage, a wrong key or a limit of calls, so
   * smaller questions are asked to find out. Returns null, or why the endpoint refuses even one
   * block and one address; then the size stays.
   */
  async shrink(error: unknown, asked: QuestionSize, ask: AskSized): Promise<Error | null> {
    if (!(error instanceof RpcError)) throw error;
    if (asked.blocks * asked.addresses === 1) return error;
    const smallest = await catchRefusal(ask(smallestQuestion));
    if (smallest !== null) return smallest;
    const isOfBlocks =
      asked.addresses === 1 ||
      (asked.blocks > 1 && (await catchRefusal(ask({ ...asked, blocks: 1 }))) === null);
    this.noteRefusal(error, asked, isOfBlocks ? 'blocks' : 'addresses');
    return null;
  }

  /** Returns a function that takes back what is learned from now on. */
  remember(): () => void {
    const [now, growsAfter, hasGrown, answers] = [
      this.#now,
      this.#growsAfter,
      this.#hasGrown,
      this.#answers,
    ];
    return () => {
      this.#now = now;
      this.#growsAfter = growsAfter;
      this.#hasGrown = hasGrown;
      this.#answers = answers;
    };
  }

  /** Makes the next questions smaller in this part: as small as the refusal says, or half. */
  noteRefusal({ text }: RpcError, asked: QuestionSize, part: keyof QuestionSize = 'blocks'): void {
    const named = isNaming[part].test(text) ? namedIn(text, asked[part]) : null;
    const isCrowd = part === 'addresses' && asked.addresses > usualAddresses;
    const next = named ?? (isCrowd ? usualAddresses : Math.floor(asked[part] / 2));
    this.#now = { ...this.#now, [part]: next };
    if (named !== null) this.#growsAfter = growsAfter.most;
    else if (this.#hasGrown) this.#growsAfter = Math.min(growsAfter.most, this.#growsAfter * 4);
    this.#hasGrown = false;
    this.#answers = 0;
  }
}

function catchRefusal(answer: Promise<unknown>): Promise<Error | null> {
  return answer.then(() => null, errorOf);
}

/** The largest number in the text that is smaller than this one; null if there is none. */
function namedIn(text: string, than: number): number | null {
  const numbers = text.match(/(?<![\w.])\d[\d,]*(?![\w.]*[a-z])/gi) ?? [];
  const smaller = numbers
    .map((found) => Number(found.replaceAll(',', '')))
    .filter((number) => number > 0 && number < than);
  return smaller.length === 0 ? null : Math.max(...smaller);
}
