import type { FastifyReply, FastifyRequest } from 'fastify';
import { addOwnBy } from '../lib/metrics.ts';
import type { Reads } from '../lib/sql/standby.ts';
import { leftOf } from './call.ts';
import type { CallDeps, HttpDeps, ShareDeps } from './deps.ts';
import { runInShare } from './overload.ts';

/**
 * The share of the database that an account, a person or a network has. Work in batches, such as
 * key checks, submits, statuses and charges, needs none.
 */

/** Places in the pool of database connections, and how many of them one owner may hold. */
export interface DatabaseShares {
  /** For statements and transactions of calls. */
  statements: { capacity: number; perOwner: number };
  /** For the sign-in library and for new passwords; both also hash. */
  signIns: { capacity: number; perOwner: number };
}

export function databaseShares(pool: number): DatabaseShares {
  const part = (divisor: number) => Math.max(1, Math.floor(pool / divisor));
  return {
    statements: { capacity: part(2), perOwner: part(5) },
    signIns: { capacity: part(4), perOwner: 1 },
  };
}

/** Gauges of the connection pool and of the shares that calls wait for. */
export function addShareGauges({
  db,
  metrics: { registry },
  ...deps
}: ShareDeps & Pick<HttpDeps, 'db' | 'decoding'>): void {
  const shares = {
    statements: deps.statements,
    ...(deps.reader && { standby_reads: deps.standbyReads }),
    sign_ins: deps.signIns,
    sums: deps.sums,
    parsing: deps.parsing,
    decoding: deps.decoding,
  };
  addOwnBy(registry, {
    name: 'farebox_database_connections',
    help: 'Connections of this process to the database: busy, idle, and calls that wait for one.',
    label: 'state',
    read: () => {
      const { total, idle, waiting } = db.stats();
      return { busy: total - idle, idle, waiting };
    },
  });
  const by = (state: 'running' | 'waiting' | 'refused') => () =>
    Object.fromEntries(Object.entries(shares).map(([name, queue]) => [name, queue.stats()[state]]));
  const label = 'share';
  const about = [
    ['farebox_share_running', 'Work that has a place.', by('running')],
    ['farebox_share_waiting', 'Work that waits for a place.', by('waiting')],
    ['farebox_share_refused_total', 'Work that got no place in time.', by('refused')],
  ] as const;
  for (const [name, help, read] of about) addOwnBy(registry, { name, help, label, read });
}

/**
 * The dependencies of one call: each statement and each transaction takes a place of the call's
 * owner, until the database is done. If the caller of a GET leaves, it gives up waiting, and a
 * statement that has begun is ended.
 */
export function withOwnerShare<Deps extends HttpDeps>(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: Deps,
): Deps {
  const { db, operations } = deps;
  const change =
    <T, R>(operation: (what: T) => Promise<R>) =>
    async (what: T): Promise<R> => {
      const result = await operation(what);
      stay(req);
      return result;
    };
  return withMembers<HttpDeps>(deps, {
    db: withMembers(db, shareOf(db, req, reply, deps)),
    operations: withMembers(operations, {
      submit: change(operations.submit),
      advance: change(operations.advance),
    }),
  }) as Deps;
}

/** The statements and transactions of this call, each in a place of its owner. */
export function shareOf(
  db: Reads,
  req: FastifyRequest,
  reply: FastifyReply,
  deps: ShareDeps,
): Reads {
  return {
    run: (statement) => inOwnShare(req, reply, deps, (wanted) => db.run(statement, wanted)),
    tx: (work) => inOwnShare(req, reply, deps, (wanted) => db.tx(work, wanted)),
  };
}

/**
 * The same object with other members in place of some. The rest is inherited, because a copy of
 * forty members costs 6 µs; so the result cannot be copied with `...`.
 */
export function withMembers<T extends object>(of: T, members: Partial<T>): T {
  return Object.assign(Object.create(of) as T, members);
}

/**
 * The first statement of a call waits for a limited time. Once the call has read or written
 * anything, it is not broken off: its later statements wait as long as it takes.
 */
async function inOwnShare<T>(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: ShareDeps,
  work: (wanted?: AbortSignal) => Promise<T>,
): Promise<T> {
  const { owner, entry } = req;
  const run = (begin: () => void, continues: boolean) => {
    const wait = { ...bounds(req, reply, deps), continues };
    const inPlace = () => {
      begin();
      return work(wait.signal);
    };
    return runInShare(deps.statements, owner, 'reads and changes', inPlace, wait);
  };
  if (entry && entry.owner === owner) {
    // Statements that were sent together with the first one are refused with it.
    await entry.entered;
    return run(() => {}, true);
  }
  const { promise: entered, resolve, reject } = Promise.withResolvers<void>();
  entered.catch(() => {});
  req.entry = { owner, entered };
  return run(resolve, false).catch((error: unknown) => {
    reject(error);
    throw error;
  });
}

const done = Promise.resolve();

/** From now on, the call's statements wait as long as it takes. */
function stay(req: FastifyRequest): void {
  req.entry = { owner: req.owner, entered: done };
}

/** Runs a call of the sign-in library, which takes its connections itself, or sets a password. */
export function runSignIn<T>(
  req: FastifyRequest,
  { signIns, metrics }: ShareDeps,
  work: () => Promise<T>,
): Promise<T> {
  return runInShare(signIns, req.owner, 'signing in', work, { metrics });
}

/**
 * Runs a sum, which may read very many rows. An owner makes one at a time. Its statements wait as
 * long as it takes.
 */
export function runSum<T>(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: ShareDeps,
  work: () => Promise<T>,
): Promise<T> {
  const details = { usage_sums_limit: 1 };
  const begin = () => {
    stay(req);
    return work();
  };
  return runInShare(deps.sums, req.owner, 'sums', begin, { ...bounds(req, reply, deps), details });
}

function bounds(req: FastifyRequest, reply: FastifyReply, { metrics }: CallDeps) {
  if (req.method !== 'GET' && req.method !== 'HEAD') return { metrics };
  return { metrics, signal: leftOf(req, reply) };
}
