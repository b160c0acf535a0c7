import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { mergeFigures, type Figures } from '../../lib/metrics.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { FromProcess, ProcessSetup, ToProcess } from './messages.ts';

/** A process ended before it served, with this code or by this signal. */
export class EndedAtStart extends Error {
  readonly code: number | null;
  constructor(code: number | null, signal: string | null) {
    super(`A process ended ${signal ? `by ${signal}` : `with code ${code}`} before it served.`);
    this.code = code;
  }
}

/** One of the processes. */
interface Member {
  number: number;
  child: ChildProcess;
  state: 'starting' | 'serving' | 'leaving';
  /**
   * Connections that it has not confirmed. It has read nothing of them, so if it ends they go to
   * another process.
   */
  handed: Map<number, Socket>;
  /** Connections that it has. */
  open: number;
  ready: PromiseWithResolvers<void>;
  over: PromiseWithResolvers<void>;
}

const program = fileURLToPath(new URL('./child.ts', import.meta.url));
/** Ends within this time make the next start wait. */
const recentMs = 60_000;
const pauseMaxMs = 30_000;
/** Shorter than a process waits for the metrics of all. */
const figuresMaxMs = 5_000;

/** How long to wait before a process is started for one that ended, the last of so many. */
export function pauseAfter(recentEnds: number): number {
  return recentEnds < 2 ? 0 : Math.min(1000 * 2 ** (recentEnds - 2), pauseMaxMs);
}

interface FleetOptions extends Omit<ProcessSetup, 'number'> {
  log: Logger;
  /** Called when no process will take another connection. */
  onFull: () => void;
}

/**
 * Keeps a number of processes, and gives each connection to the one with the fewest.
 *
 * Node's `cluster` is not used: when a process is killed, the connection that was just given to it
 * stays open and never gets an answer; if the system distributes the connections instead, most of
 * them may go to one process.
 */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #members = new Set<Member>();
  /** Connections that wait for a process. */
  readonly #waiting: Socket[] = [];
  readonly #stopping = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  readonly #asked = new Map<number, (figures: Figures) => void>();
  #wanted = 0;
  #counter = 0;
  #newest = 0;
  #lost = 0;
  #ends: number[] = [];
  #replacing = Promise.resolve();

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#failed.promise.catch(() => {});
  }

  /**
   * Starts the processes. Throws `EndedAtStart` if the first of them does not serve; it starts
   * alone, so that a mistake in the settings is told once.
   */
  async start(count: number): Promise<void> {
    this.#wanted = count;
    await this.#start();
    const others = Array.from({ length: count - 1 }, () =>
      this.#start().catch((error: unknown) => void this.#startLater(error)),
    );
    await Promise.all(others);
  }

  /** Rejects with `EndedAtStart` once no process serves and another does not start. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** The PIDs of the processes that serve. */
  get pids(): number[] {
    return this.#serving().map(({ child }) => child.pid!);
  }

  give(socket: Socket): void {
    // Until a process reads it, this process does nothing with it.
    socket.on('error', () => {});
    this.#hand(socket);
  }

  /** Puts a new process in the place of each, one after the other; the old one ends its calls. */
  replaceAll(): void {
    this.#replacing = this.#replacing.then(() => this.#replaceEach());
  }

  /** Stops all processes at once and waits for their end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { child } of this.#members) child.kill('SIGTERM');
    await Promise.all([...this.#members].map(({ over }) => over.promise));
    for (const socket of this.#waiting) socket.destroy();
  }

  #serving(): Member[] {
    return [...this.#members].filter(({ state }) => state === 'serving');
  }

  /** Starts a process. Resolves when it serves; throws `EndedAtStart`. */
  async #start(): Promise<Member> {
    const { log, onFull: _, ...rest } = this.#options;
    const number = ++this.#newest;
    const given: ProcessSetup = { ...rest, number };
    const child = fork(program, [JSON.stringify(given)], { serialization: 'advanced' });
    const member: Member = {
      number,
      child,
      state: 'starting',
      handed: new Map(),
      open: 0,
      ready: Promise.withResolvers(),
      over: Promise.withResolvers(),
    };
    this.#members.add(member);
    child.on('message', (message: FromProcess) => this.#hear(member, message));
    child.once('exit', (code, signal) => this.#ended(member, code, signal));
    // Comes after its last message. While a connection is not confirmed, Node has no 'disconnect'.
    child.once('close', () => this.#takeBack(member));
    child.on('error', (err) => {
      log.error({ err, process: number }, 'a process could not be started or told something');
      if (child.pid === undefined) this.#ended(member, 1, null);
    });
    await member.ready.promise;
    log.info({ process: number, process_pid: child.pid }, 'process serves');
    return member;
  }

  #hear(member: Member, message: FromProcess): void {
    switch (message.type) {
      case 'serves':
        member.state = 'serving';
        member.ready.resolve();
        for (const socket of this.#waiting.splice(0)) this.#hand(socket);
        return;
      case 'took':
        // The process has a descriptor of its own, so the connection stays open.
        member.handed.get(message.connection)?.destroy();
        member.handed.delete(message.connection);
        member.open++;
        return;
      case 'closed':
        member.open--;
        return;
      case 'full':
        member.state = 'leaving';
        if (this.#stopping.signal.aborted && this.#serving().length === 0) this.#options.onFull();
        return;
      case 'figures':
        this.#asked.get(message.question)?.(message.figures);
        return;
      case 'ask':
        void this.#tellFigures(member, message.question);
    }
  }

  #hand(socket: Socket): void {
    const [least] = this.#serving().toSorted(
      (a, b) => a.handed.size - b.handed.size || a.open - b.open,
    );
    if (least === undefined) return void this.#waiting.push(socket);
    const connection = ++this.#counter;
    least.handed.set(connection, socket);
    this.#tell(least, { type: 'take', connection }, socket);
  }

  /** Gives away again what an ended process has not taken. */
  #takeBack({ handed }: Member): void {
    for (const socket of handed.values()) this.#hand(socket);
    handed.clear();
  }

  #ended(member: Member, code: number | null, signal: NodeJS.Signals | null): void {
    const { number, state } = member;
    this.#members.delete(member);
    member.state = 'leaving';
    member.over.resolve();
    member.ready.reject(new EndedAtStart(code, signal));
    if (state !== 'serving' || this.#stopping.signal.aborted) return;
    this.#lost++;
    this.#options.log.error({ process: number, code, signal }, 'process ended by itself');
    void this.#startLater();
  }

  /** Starts a process for one that ended, or could not start. */
  async #startLater(failure?: unknown): Promise<void> {
    const { signal } = this.#stopping;
    const now = performance.now();
    this.#ends = [...this.#ends.filter((at) => now - at < recentMs), now];
    if (failure !== undefined && this.#serving().length === 0) this.#failed.reject(failure);
    await pause(pauseAfter(this.#ends.length), undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    await this.#start().catch((error: unknown) => this.#startLater(error));
  }

  async #replaceEach(): Promise<void> {
    const { log } = this.#options;
    log.info({ processes: this.#serving().length }, 'restarting the processes');
    for (const old of this.#serving()) {
      // Another one may have ended, and been started again meanwhile.
      if (this.#stopping.signal.aborted || old.state !== 'serving') continue;
      try {
        await this.#start();
      } catch (err) {
        log.error({ err }, 'restart given up: a new process did not start, the old ones go on');
        return;
      }
      old.state = 'leaving';
      this.#tell(old, { type: 'retire' });
      await old.over.promise;
    }
    log.info({ processes: this.#serving().length }, 'processes restarted');
  }

  #tell({ child }: Member, message: ToProcess, socket?: Socket): void {
    // If it fails, the process is about to end, which is noticed.
    if (child.connected) child.send(message, socket, { keepOpen: true }, () => {});
  }

  async #tellFigures(asker: Member, question: number): Promise<void> {
    const members = [...this.#members].filter(({ state }) => state !== 'starting');
    const answers = await Promise.all(members.map((member) => this.#read(member)));
    const figures = answers.filter((answer) => answer !== null);
    const text = await mergeFigures([...figures, this.#own(figures.length)]);
    this.#tell(asker, { type: 'all', question, text });
  }

  #read(member: Member): Promise<Figures | null> {
    const question = ++this.#counter;
    const { promise, resolve } = Promise.withResolvers<Figures>();
    this.#asked.set(question, resolve);
    this.#tell(member, { type: 'read', question });
    return withTimeout(promise, figuresMaxMs)
      .catch(() => null)
      .finally(() => this.#asked.delete(question));
  }

  /** The metrics of the processes as a whole. */
  #own(answering: number): Figures {
    const states = { wanted: this.#wanted, answering };
    return [
      {
        name: 'farebox_processes',
        help: 'Processes at this address: wanted, and those that answered this scrape.',
        type: 'gauge',
        values: Object.entries(states).map(([state, value]) => ({ labels: { state }, value })),
      },
      {
        name: 'farebox_processes_lost_total',
        help: 'Processes that ended by themselves, and in whose place another one was started.',
        type: 'counter',
        values: [{ labels: {}, value: this.#lost }],
      },
    ];
  }
}
