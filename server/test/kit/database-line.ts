import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * The connections between a service and PostgreSQL. A test can cut them, delay them, silence them,
 * or lose the answer to a commit.
 */
export interface DatabaseLine {
  /** The database URL to use instead of the server's own. */
  url: string;
  /** Breaks every open connection. */
  cut(): void;
  /**
   * Breaks the connection that sends the next statement like this one, before the server receives
   * it.
   */
  cutAt(text: RegExp | null): void;
  /**
   * Drops all traffic of the open connections without closing them, and returns their number. New
   * connections work.
   */
  deafen(): number;
  /** Delays everything, new connections too, until the returned function is called. */
  holdUp(): () => void;
  /**
   * Loses the server's answer to the commit, and the connection, for the next `count` transactions
   * that write, or that have a statement like `of`.
   */
  loseCommits(count: number, of?: RegExp): void;
  /** Breaks every open connection, and leads new ones to another server. */
  leadTo(serverUrl: string): void;
  /** Writing statements of the transactions whose commit was lost, with counts. */
  readonly lost: ReadonlyMap<string, number>;
  readonly lostCommits: number;
  close(): Promise<void>;
}

export async function openLine(serverUrl: string): Promise<DatabaseLine> {
  let target = socketOf(serverUrl);
  const ties = new Set<Tie>();
  const lost = new Map<string, number>();
  let lostCommits = 0;
  let cutting: RegExp | null = null;
  let held: PromiseWithResolvers<void> | undefined;
  let toLose = { count: 0, of: /./ };
  const shouldLose = (written: string[]): boolean => {
    if (toLose.count === 0 || !written.some((text) => toLose.of.test(text))) return false;
    toLose.count--;
    lostCommits++;
    for (const text of written) lost.set(text, (lost.get(text) ?? 0) + 1);
    return true;
  };
  const server = createServer((near) => {
    const tie = new Tie(near, connect(target), {
      heldUp: () => held?.promise,
      shouldLose,
      shouldCut: (text) => cutting?.test(text) ?? false,
    });
    ties.add(tie);
    near.once('close', () => ties.delete(tie));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: serverUrl.replace(/@[^/]*\//, `@127.0.0.1:${port}/`),
    lost,
    get lostCommits() {
      return lostCommits;
    },
    cut() {
      for (const tie of ties) tie.cut();
    },
    cutAt(text) {
      cutting = text;
    },
    deafen() {
      for (const tie of ties) tie.deaf = true;
      return ties.size;
    },
    holdUp() {
      const own = Promise.withResolvers<void>();
      held = own;
      return () => {
        held = undefined;
        own.resolve();
      };
    },
    loseCommits(count, of = /./) {
      toLose = { count, of };
    },
    leadTo(url) {
      target = socketOf(url);
      for (const tie of ties) tie.cut();
    },
    async close() {
      server.close();
      for (const tie of ties) tie.cut();
    },
  };
}

/** The address of the server. The folder of a unix socket is percent-encoded in the host. */
function socketOf(serverUrl: string): { path: string } | { host: string; port: number } {
  const [, host = '', port = '5432'] = /@([^:/]*):?(\d*)\//.exec(serverUrl) ?? [];
  const name = decodeURIComponent(host);
  return name.startsWith('/')
    ? { path: `${name}/.s.PGSQL.${port}` }
    : { host: name, port: Number(port) };
}

interface Faults {
  heldUp: () => Promise<void> | undefined;
  shouldLose: (written: string[]) => boolean;
  shouldCut: (text: string) => boolean;
}

/** One connection. Both directions are parsed by PostgreSQL's protocol. */
class Tie {
  deaf = false;
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #texts = new Map<string, string>();
  /** The texts of statements that were sent and not answered yet. */
  readonly #asked: string[] = [];
  /** The answered statements of the open transaction. */
  #answered: string[] = [];
  /** The writing statements of transactions whose commit is answered in the current bytes. */
  #written: string[] = [];
  #bound = '';
  #command = '';

  constructor(near: Socket, far: Socket, { heldUp, shouldLose, shouldCut }: Faults) {
    this.#near = near;
    this.#far = far;
    const asked = messages((type, body) => this.#ask(type, body), { hasStartup: true });
    const answered = messages((type, body) => this.#answer(type, body), { hasStartup: false });
    const pass = async (from: Socket, to: Socket, look: (bytes: Buffer) => void) => {
      for await (const bytes of from) {
        await heldUp();
        if (this.deaf) continue;
        this.#written = [];
        look(bytes as Buffer);
        if (from === near && this.#asked.some(shouldCut)) return this.cut();
        if (this.#written.length > 0 && shouldLose(this.#written)) return this.cut();
        to.write(bytes as Buffer);
      }
    };
    for (const [from, to, look] of [
      [near, far, asked],
      [far, near, answered],
    ] as const) {
      from.on('error', () => {});
      pass(from, to, look)
        .catch(() => {})
        .finally(() => !this.deaf && this.cut());
    }
  }

  cut(): void {
    this.#near.destroy();
    this.#far.destroy();
  }

  #ask(type: string, body: Buffer): void {
    const parts = () => body.toString('latin1').split('\0');
    if (type === 'P') this.#texts.set(parts()[0]!, parts()[1]!);
    if (type === 'B') this.#bound = this.#texts.get(parts()[1]!) ?? '';
    if (type === 'Q') this.#asked.push(parts()[0]!);
    if (type === 'S') this.#asked.push(this.#bound);
  }

  #answer(type: string, body: Buffer): void {
    if (type === 'C') this.#command = body.toString('latin1', 0, body.length - 1);
    if (type !== 'Z') return;
    this.#answered.push(this.#asked.shift() ?? '');
    if (body.toString('latin1') !== 'I') return;
    const written = this.#answered.filter((text) => /\b(insert|update|delete)\b/i.test(text));
    if (this.#command !== 'ROLLBACK') this.#written.push(...written);
    this.#answered = [];
  }
}

/** Splits a stream into messages: a letter, a length of four bytes, a body. */
function messages(
  take: (type: string, body: Buffer) => void,
  { hasStartup }: { hasStartup: boolean },
): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  // The first message of a client has no letter.
  let head = hasStartup ? 0 : 1;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= head + 4) {
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) break;
      take(rest.toString('latin1', 0, head), rest.subarray(head + 4, end));
      rest = rest.subarray(end);
      head = 1;
    }
  };
}
