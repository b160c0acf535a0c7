import { setFront, type Answer, type Call, type FakeUpstream } from '../upstreams/fakes/kit.ts';

/** The purpose of a call to an upstream. */
export type Role = 'submit' | 'poll' | 'output' | 'cancel';

/** A call that is stopped on its way. */
export interface Hold {
  /** Resolves once the call is stopped. */
  reached: Promise<void>;
  /** go: the call continues normally. drop: its connection breaks. */
  end(how: 'go' | 'drop'): void;
}

/**
 * When the call is stopped. before: the upstream has not seen it. after: the upstream has acted,
 * and no byte of the answer is sent. half: half of the answer is sent.
 */
export type KillMoment = 'before' | 'after' | 'half';

const tagForm = /chaos-\d+x/;
const cancelForm = /\/cancel$|^\/(?:interrupt|queue)$/;
const outputForm = /^\/(?:v1\/)?(?:outputs|delivery|view)\b|\/content$/;

/** A text in the prompt that links a job to its request. */
export const tagOf = (n: number): string => `chaos-${n}x`;

/**
 * Stands in front of a fake: counts submits, stops the calls a test chooses, and slows calls down.
 */
export class Door {
  readonly fake: FakeUpstream;
  /** Submits that arrived, by their tag; several submits may have created one job. */
  readonly submits = new Map<string, number>();
  /** Longest delay of a call, half of it before the fake acts. */
  slowMs = 0;
  /** Number of calls that have arrived and are not answered. */
  underWay = 0;
  readonly #random: () => number;
  #stops: { role: Role; when: KillMoment; stop: Stop }[] = [];

  constructor(fake: FakeUpstream, random: () => number) {
    this.fake = fake;
    this.#random = random;
    setFront(fake.url, (call, answer) => this.#through(call, answer));
  }

  /** Stops the next call of this role. */
  hold(role: Role, when: KillMoment): Hold {
    const stop = new Stop();
    this.#stops.push({ role, when, stop });
    return stop;
  }

  /** Lets all held calls go and drops holds that no call has reached. */
  open(): void {
    for (const { stop } of this.#stops) stop.end('go');
    this.#stops = [];
  }

  close(): void {
    this.open();
    setFront(this.fake.url, null);
  }

  /** Jobs that were created for the request of this tag. */
  jobsOf(tag: string) {
    return this.fake.journal.filter(({ input }) => JSON.stringify(input).includes(tag));
  }

  async #through(call: Call, answer: () => Promise<Answer>): Promise<Answer> {
    this.underWay++;
    try {
      return await this.#judge(call, answer);
    } finally {
      this.underWay--;
    }
  }

  async #judge(call: Call, answer: () => Promise<Answer>): Promise<Answer> {
    const role = this.#roleOf(call);
    const index = this.#stops.findIndex((each) => each.role === role);
    const [found] = index < 0 ? [] : this.#stops.splice(index, 1);
    await this.#slow();
    if (found?.when === 'before' && (await found.stop.wait()) === 'drop') return { cutAfter: 0 };
    const made = await answer();
    if (found?.when === 'half') return inHalves(made, found.stop);
    if (found?.when === 'after' && (await found.stop.wait()) === 'drop') return { cutAfter: 0 };
    await this.#slow();
    return made;
  }

  async #slow(): Promise<void> {
    if (this.slowMs === 0) return;
    await new Promise((resolve) => setTimeout(resolve, (this.#random() * this.slowMs) / 2));
  }

  #roleOf({ method, path, query, body }: Call): Role | null {
    const [tag] = method === 'POST' ? (tagForm.exec(body.toString('latin1')) ?? []) : [];
    if (tag !== undefined) {
      this.submits.set(tag, (this.submits.get(tag) ?? 0) + 1);
      return 'submit';
    }
    if (method !== 'GET') return cancelForm.test(path) ? 'cancel' : null;
    if (outputForm.test(path)) return 'output';
    const ids = new Set([...path.split('/'), ...query.values()]);
    return this.fake.journal.some(({ id }) => ids.has(id)) ? 'poll' : null;
  }
}

class Stop implements Hold {
  readonly #reached = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<'go' | 'drop'>();

  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  end(how: 'go' | 'drop'): void {
    this.#ended.resolve(how);
  }

  wait(): Promise<'go' | 'drop'> {
    this.#reached.resolve();
    return this.#ended.promise;
  }
}

function inHalves({ body: whole = '', headers, ...answer }: Answer, stop: Stop): Answer {
  const body = Buffer.from(whole);
  const middle = body.length >> 1;
  async function* pieces() {
    yield body.subarray(0, middle);
    if ((await stop.wait()) === 'drop') throw new Error('cut');
    yield body.subarray(middle);
  }
  return {
    ...answer,
    headers: { ...headers, 'content-length': String(body.length) },
    pieces: pieces(),
  };
}
