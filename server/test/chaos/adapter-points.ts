import { canStop, type Place, type TrackedRequest, type World } from './adapter-world.ts';
import type { Hold, Role, KillMoment } from './door.ts';
import { factsOf, jobsOf, type End, type Fact } from './adapter-verdict.ts';
import type { Fault } from '../upstreams/fakes/kit.ts';

/**
 * The moments between a submit and its settlement. Each one kills a process at exactly that moment.
 */
export interface Point {
  name: string;
  /** The killed process only takes submits. */
  http?: true;
  /** The rigs that have this moment; default: all. */
  of?: (place: Place) => boolean;
  /** Submits, brings every request to the point, and kills the process. */
  play(stage: Stage): Promise<void>;
  /** Must hold for every request after the kill; otherwise the point was missed. */
  every: (fact: Fact, jobs: number, tracked: TrackedRequest) => boolean;
  /** Must hold for at least one request. */
  some?: (fact: Fact) => boolean;
  /** After the kill every upstream has this fault, if any, and requests must end this way. */
  afterwards?: { fault?: Fault; end: End };
  /** Jobs run on until they are stopped. */
  endless?: true;
}

const unanswered = (wanted: number) => (fact: Fact, jobs: number) =>
  fact.begun && !fact.handle && jobs === wanted;
const running = (fact: Fact, jobs: number) =>
  fact.handle && jobs === 1 && fact.status === 'IN_PROGRESS';
const polls = ({ rig }: Place) => rig.cannot['poll-500'] === undefined;

export const points: Point[] = [
  {
    name: 'queued, before a worker has seen it',
    http: true,
    every: (fact, jobs) => !fact.begun && jobs === 0,
    async play(stage) {
      await stage.submit();
      await stage.kill();
    },
  },
  {
    name: 'claimed, before the intent',
    every: (fact, jobs) => !fact.begun && jobs === 0,
    play: (stage) => atWrite(stage, 'attempts', 'lost'),
  },
  {
    name: 'after the intent, before the call',
    every: (fact, jobs) => !fact.handle && jobs === 0,
    some: ({ begun }) => begun,
    play: (stage) => atWrite(stage, 'attempts', 'kept'),
  },
  {
    name: 'after the call was read, no job is made',
    every: unanswered(0),
    play: (stage) => atCall(stage, 'submit', 'before', 'drop'),
  },
  {
    name: 'after the call was read, the job is made when nobody waits any more',
    every: unanswered(1),
    async play(stage) {
      await atCall(stage, 'submit', 'before', 'go');
      await stage.made();
    },
  },
  {
    name: 'after the job is made, before the answer',
    every: unanswered(1),
    async play(stage) {
      await atCall(stage, 'submit', 'after', 'drop');
      await stage.world.callBack();
    },
  },
  {
    name: 'after the job is made and called back, before the answer',
    every: (fact, jobs, { place, callbacks }) =>
      fact.begun && jobs === 1 && fact.handle === (callbacks && place.rig.callsBack),
    async play(stage) {
      const holds = stage.hold('submit', 'after');
      await stage.submit();
      await stage.reached(holds);
      await stage.world.callBack();
      await stage.kill();
      end(holds, 'drop');
    },
  },
  {
    name: 'after the answer, before the handle',
    every: unanswered(1),
    play: (stage) => atAnswer(stage, 'submit', 'after', 'attempts', 'lost'),
  },
  {
    name: 'after the handle',
    every: (fact, jobs) => fact.begun && jobs === 1,
    some: ({ handle }) => handle,
    play: (stage) => atAnswer(stage, 'submit', 'after', 'attempts', 'kept'),
  },
  {
    name: 'during a poll',
    of: polls,
    every: running,
    play: (stage) => atCall(stage, 'poll', 'after', 'drop'),
  },
  {
    name: 'in the middle of a download',
    every: running,
    play: (stage) => atCall(stage, 'output', 'half', 'drop'),
  },
  {
    name: 'after the outputs are stored, before the settlement',
    every: (fact, jobs, { id }) => running(fact, jobs) && fact.stored(id) > 0,
    play: (stage) => atAnswer(stage, 'output', 'before', 'transfers', 'lost'),
  },
  {
    name: 'after the outputs are stored, and then the job is forgotten',
    of: polls,
    every: (fact, jobs, { id }) => running(fact, jobs) && fact.stored(id) > 0,
    afterwards: { fault: 'poll-404-always', end: 'upstream_failed' },
    play: (stage) => atAnswer(stage, 'output', 'before', 'transfers', 'lost'),
  },
  {
    name: 'after the settlement was sent',
    every: (fact, jobs) => fact.handle && jobs === 1,
    play: (stage) => atAnswer(stage, 'output', 'before', 'transfers', 'kept'),
  },
  ...(
    [
      ['after a cancel, before it is noted that the upstream is asked to stop', askedFor],
      ['during the call to stop, which the upstream never gets', stopping('before', 'drop')],
      ['during the call to stop, which the upstream gets later', stopping('before', 'go')],
      ['after the upstream has taken the call to stop', stopping('after', 'drop')],
      ['after the job has stopped, before the settlement', stopped('lost')],
      ['after the job has stopped and the settlement was sent', stopped('kept')],
    ] as const
  ).map(([name, play]): Point => {
    const every = (fact: Fact, jobs: number) => fact.handle && jobs === 1;
    return { name, play, every, of: canStop, endless: true, afterwards: { end: 'CANCELLED' } };
  }),
];

/** Kills the process while it writes that the upstream is going to be asked. */
async function askedFor(stage: Stage): Promise<void> {
  await stage.run();
  await stage.cancel();
  await stage.kill();
}

/** Kills the process while every call to stop a job is held. */
function stopping(when: KillMoment, how: 'go' | 'drop') {
  return async (stage: Stage): Promise<void> => {
    await stage.run();
    const holds = stage.hold('cancel', when);
    await stage.cancel();
    await stage.reached(holds);
    await stage.kill();
    end(holds, how);
  };
}

/** Kills the process while it settles jobs that have stopped. */
function stopped(write: 'lost' | 'kept') {
  return async (stage: Stage): Promise<void> => {
    await stage.run();
    const lock = await stage.world.lock('transfers');
    await stage.cancel();
    await stage.settling();
    await stage.kill();
    if (write === 'lost') await stage.world.forget();
    await lock.release();
    await stage.world.forgotten();
  };
}

/**
 * Kills the process while its first write to this table waits. `kept`: the database still commits
 * the write; `lost`: it does not.
 */
async function atWrite(stage: Stage, table: 'attempts', write: 'lost' | 'kept'): Promise<void> {
  const lock = await stage.world.lock(table);
  await stage.submit();
  await stage.world.blocked();
  await stage.kill();
  if (write === 'lost') await stage.world.forget();
  await lock.release();
  await stage.world.forgotten();
}

/** Kills the process while every call of this role is held. */
async function atCall(
  stage: Stage,
  role: Role,
  when: KillMoment,
  how: 'go' | 'drop',
): Promise<void> {
  const holds = stage.hold(role, when);
  await stage.submit();
  await stage.reached(holds);
  await stage.kill();
  end(holds, how);
}

/** Kills the process after every call of this role was answered, while it writes the result. */
async function atAnswer(
  stage: Stage,
  role: Role,
  when: KillMoment,
  table: 'attempts' | 'transfers',
  write: 'lost' | 'kept',
): Promise<void> {
  const holds = stage.hold(role, when);
  await stage.submit();
  await stage.reached(holds);
  const lock = await stage.world.lock(table);
  end(holds, 'go');
  if (table === 'transfers') await stage.storedAll();
  await stage.world.blocked();
  await stage.kill();
  if (write === 'lost') await stage.world.forget();
  await lock.release();
  await stage.world.forgotten();
}

function end(holds: Hold[], how: 'go' | 'drop'): void {
  for (const hold of holds) hold.end(how);
}

/** One request for each rig on its way to a point. */
export class Stage {
  readonly world: World;
  readonly point: Point;
  readonly callbacks: boolean;
  tracked: TrackedRequest[] = [];

  constructor(world: World, point: Point, callbacks: boolean) {
    this.world = world;
    this.point = point;
    this.callbacks = callbacks;
  }

  #places(): Place[] {
    return this.world.places.filter((place) => this.point.of?.(place) ?? true);
  }

  async submit(): Promise<void> {
    const { name } = this.point;
    this.tracked = await Promise.all(
      this.#places().map((place) => this.world.submit(place, name, this.callbacks)),
    );
  }

  hold(role: Role, when: KillMoment): Hold[] {
    return this.#places().map(({ door }) => door.hold(role, when));
  }

  async reached(holds: Hold[]): Promise<void> {
    const waiting = new Set(this.#places().map(({ rig }) => rig.name));
    const all = holds.map((hold, i) =>
      hold.reached.then(() => waiting.delete(this.#places()[i]!.rig.name)),
    );
    await this.world
      .until('every call is held', async () => {
        await this.world.wake();
        return waiting.size === 0;
      })
      .catch((cause: Error) => {
        throw new Error(`${[...waiting].join(', ')} did not come so far`, { cause });
      });
    await Promise.all(all);
  }

  /** Waits until each request's outputs are stored. */
  storedAll(): Promise<void> {
    return this.world.until('the outputs are stored', () =>
      this.tracked.every(({ id }) => this.world.stored(id).length > 0),
    );
  }

  /** Submits, and waits until the upstream's name of each job is known. */
  async run(): Promise<void> {
    await this.submit();
    await this.world.until('the jobs run', async () => {
      const facts = await factsOf(this.world, this.tracked);
      return this.tracked.every(({ id }) => facts.get(id)!.handle);
    });
  }

  async cancel(): Promise<void> {
    await Promise.all(this.tracked.map(({ id }) => this.world.cancel(id)));
  }

  /** Waits until a settlement waits for the books. */
  settling(): Promise<void> {
    return this.world.until('a settlement waits', async () => {
      await this.world.wake();
      return this.world.isBlocked();
    });
  }

  /** Waits until each request's job is created. */
  made(): Promise<void> {
    return this.world.until('the jobs are made', () =>
      this.tracked.every((each) => jobsOf(each).length > 0),
    );
  }

  async kill(): Promise<void> {
    await this.world.kill();
  }

  /** Faults of the scene itself: requests that missed the point, so that nothing was proven. */
  async missed(): Promise<string[]> {
    const { every, some, name } = this.point;
    const facts = await factsOf(this.world, this.tracked);
    const wrong = this.tracked.filter(
      (each) => !every(facts.get(each.id)!, jobsOf(each).length, each),
    );
    const told = wrong.map((each) => {
      const { begun, handle, status } = facts.get(each.id)!;
      const state = JSON.stringify({ status, begun, handle, jobs: jobsOf(each).length });
      return `not killed "${name}": ${each.place.rig.name} ${each.id} was ${state}`;
    });
    if (some && ![...facts.values()].some(some)) told.push(`no request was killed "${name}"`);
    return told;
  }
}
