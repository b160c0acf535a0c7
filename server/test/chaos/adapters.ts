import { compare, endOf, factsOf, type End } from './adapter-verdict.ts';
import { points, Stage, type Point } from './adapter-points.ts';
import { World, type TrackedRequest } from './adapter-world.ts';
import { pause, type Node } from './harness.ts';

/**
 * Kills the service while its real adapters talk to fakes of their upstreams: at each moment
 * between intent and settlement, and at random. Then another process takes over, and journals, rows
 * and books are compared.
 */

export interface Scene {
  /** A part of a point's name; `crash loop`: 60 requests and kills at random. */
  point: string;
  /** Whether the upstreams can call back. */
  callbacks: boolean;
}

export interface AdapterReport {
  seed: number;
  kills: number;
  requests: number;
  completed: number;
  unknown: number;
  /** Repeated submits: the upstream recognised them, or the earlier one had created nothing. */
  repeats: number;
  /** Callbacks that found no process. */
  missedCalls: number;
  /** Violations of the laws; must be empty. */
  violations: string[];
}

export interface AdapterOptions {
  seed: number;
  scenes: Scene[];
  /** The time in which a crash loop kills processes. */
  loopMs: number;
  log?: (line: string) => void;
}

export const crashLoop = 'crash loop';
const loopRequests = 60;
const loopLeaseSeconds = 1;
const slowMs = 160;

/** Every point and a crash loop, with or without callbacks. */
export function allScenes(callbacks: boolean): Scene[] {
  // A callback of some fakes completes their job.
  const able = points.filter(({ endless }) => !(endless && callbacks));
  return [...able.map(({ name }) => name), crashLoop].map((point) => ({ point, callbacks }));
}

export async function chaosOfAdapters(options: AdapterOptions): Promise<AdapterReport> {
  const log = options.log ?? (() => {});
  const world = await World.open(options.seed);
  const run = new Run(world, options);
  try {
    for (const scene of options.scenes) {
      const begun = performance.now();
      const before = run.violations.length;
      if (scene.point === crashLoop) await run.loop(scene.callbacks);
      else await run.at(pointNamed(scene.point), scene.callbacks);
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      const found = run.violations.length - before;
      const shown = `${scene.point}${scene.callbacks ? ' (calls back)' : ''}`;
      log(`${seconds.padStart(5)} s  ${found === 0 ? 'ok' : `${found} WRONG`}  ${shown}`);
    }
    return run.report();
  } finally {
    await world.close();
  }
}

function pointNamed(part: string): Point {
  const found = points.find(({ name }) => name.includes(part));
  if (!found) throw new Error(`no point is called "${part}"`);
  return found;
}

class Run {
  readonly #world: World;
  readonly #options: AdapterOptions;
  readonly #all: TrackedRequest[] = [];
  readonly #ends = new Map<string, End>();
  readonly violations: string[] = [];
  #kills = 0;
  /** The options of the running process. */
  #living: { http: boolean; callbacks: boolean } | null = null;

  constructor(world: World, options: AdapterOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** One request for each rig: a process is killed at the point, and another one continues. */
  async at(point: Point, callbacks: boolean): Promise<void> {
    const world = this.#world;
    const wanted = { http: point.http ?? false, callbacks };
    await this.#begin(wanted.http, callbacks);
    const stage = new Stage(world, point, callbacks);
    for (const { fake } of world.places) fake.hold(point.endless ?? false);
    try {
      await point.play(stage);
    } catch (error) {
      this.violations.push(`killing "${point.name}": ${(error as Error).message}`);
      await world.kill();
    }
    this.#kills++;
    this.#living = null;
    for (const { door } of world.places) door.open();
    this.violations.push(...(await stage.missed()));
    await this.#finish(stage.tracked, callbacks, point.afterwards);
  }

  async #begin(http: boolean, callbacks: boolean): Promise<void> {
    const fits = this.#living?.http === http && this.#living.callbacks === callbacks;
    if (fits) return;
    await this.#world.kill();
    await this.#world.start(http ? 'http' : 'both', callbacks);
    this.#living = { http, callbacks };
  }

  /**
   * While no process runs, derives the end of each request from its committed state. A new process
   * must reach this end.
   */
  async #finish(
    tracked: TrackedRequest[],
    callbacks: boolean,
    after?: Point['afterwards'],
  ): Promise<void> {
    const world = this.#world;
    this.#all.push(...tracked);
    const facts = await factsOf(world, tracked);
    const ends = tracked.map(
      (each) => [each.id, after?.end ?? endOf(each, facts.get(each.id)!)] as const,
    );
    const fault = after?.fault;
    if (fault) for (const { fake } of world.places) fake.play(fault);
    if (fault) await world.age();
    for (const [id, end] of ends) this.#ends.set(id, end);
    const lost = ends.filter(([, end]) => end === 'outcome_unknown').map(([id]) => id);
    await world.endLeases();
    await world.start('both', callbacks);
    this.#living = { http: false, callbacks };
    const final = async () => {
      if (callbacks) await world.callBack();
      await world.wake();
      await world.giveUp(lost);
      return (await world.open()) === 0;
    };
    await world.until('every request is final', final).catch((error: Error) => {
      this.violations.push(error.message);
    });
    for (const { fake } of world.places) {
      fake.mend();
      fake.hold(false);
    }
    this.violations.push(...(await compare(world, tracked, this.#ends)));
  }

  /** Requests of every rig at once, while processes are killed at random. */
  async loop(callbacks: boolean): Promise<void> {
    const world = this.#world;
    await world.kill();
    for (const { door } of world.places) door.slowMs = slowMs;
    const stop = new AbortController();
    const starting = new Set<Promise<void>>();
    // A process that only listens takes callbacks while no worker runs.
    const roles = callbacks ? (['http', 'worker', 'worker'] as const) : (['both', 'both'] as const);
    await Promise.all(roles.map((role) => world.start(role, callbacks, loopLeaseSeconds)));
    const moving = this.#move(callbacks, stop.signal);
    const submitting = this.#submitAll(callbacks);
    // The error is reported below, whenever it happens.
    submitting.catch(() => {});
    const until = Date.now() + this.#options.loopMs;
    while (Date.now() < until) {
      await pause(150 + world.random() * 450);
      const victim = world.nodes[Math.floor(world.random() * world.nodes.length)];
      if (victim) this.#replace(victim, callbacks, starting);
    }
    // Whether or not the submits fail, everything else stops first, so that their error is not
    // hidden.
    const tracked = await submitting.finally(async () => {
      stop.abort();
      await Promise.all([moving, ...starting]);
      await world.kill();
    });
    for (const { door } of world.places) door.slowMs = 0;
    await world.until('the calls end', () => world.places.every(({ door }) => !door.underWay));
    await world.forgotten();
    await this.#finish(tracked, callbacks);
  }

  #replace(victim: Node, callbacks: boolean, starting: Set<Promise<void>>): void {
    const world = this.#world;
    this.#kills++;
    const replaced = world
      .kill([victim])
      .then(() => world.start(victim.role, callbacks, loopLeaseSeconds))
      .then(() => {})
      .catch((error: Error) => void this.violations.push(`crash loop: ${error.message}`));
    starting.add(replaced);
  }

  /** Submits during most of the time in which processes are killed. */
  #submitAll(callbacks: boolean): Promise<TrackedRequest[]> {
    const world = this.#world;
    const each = async (_: unknown, i: number) => {
      await pause((this.#options.loopMs * 0.8 * i) / loopRequests);
      return world.submit(world.places[i % world.places.length]!, crashLoop, callbacks);
    };
    return Promise.all(Array.from({ length: loopRequests }, each));
  }

  /** Makes polls due earlier than upstreams ask for, but not the recovery of lost starts. */
  async #move(callbacks: boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#world.wake(false);
      if (callbacks) await this.#world.callBack();
      await pause(60);
    }
  }

  report(): AdapterReport {
    const ended = (end: End) => [...this.#ends.values()].filter((each) => each === end).length;
    const repeats = this.#world.places
      .flatMap(({ door }) => [...door.submits.values()])
      .reduce((sum, count) => sum + count - 1, 0);
    return {
      seed: this.#options.seed,
      kills: this.#kills,
      requests: this.#all.length,
      completed: ended('COMPLETED'),
      unknown: ended('outcome_unknown'),
      repeats,
      missedCalls: this.#world.missed,
      violations: this.violations,
    };
  }
}
