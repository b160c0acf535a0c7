import type { FastifyReply, FastifyRequest } from 'fastify';
import { addOwnBy } from '../lib/metrics.ts';
import type { Database } from '../lib/sql/sql.ts';
import { leftOf } from './call.ts';
import type { HttpDeps } from './deps.ts';
import { inShare } from './overload.ts';

/**
 * The share of the database that an account, a person or a network has. Work in batches, such as
 * key checks, submits, statuses and charges, needs none.
 */

/** Places in the pool of database connections, and how many of them one owner may hold. */
export interface DatabaseShares {
  /** For statements and transactions of calls. */
  statements: { places: number; perOwner: number };
  /** For the sign-in library, which also hashes passwords meanwhile. */
  signIns: { places: number; perOwner: number };
}

export function databaseShares(pool: number): DatabaseShares {
  const part = (divisor: number) => Math.max(1, Math.floor(pool / divisor));
  return {
    statements: { places: part(2), perOwner: part(5) },
    signIns: { places: part(4), perOwner: 1 },
  };
}

/** Gauges of the connection pool and of the shares that calls wait for. */
export function addShareGauges({
  db,
  metrics: { registry },
  ...deps
}: Pick<HttpDeps, 'db' | 'metrics' | 'statements' | 'signIns' | 'sums' | 'parsing'>): void {
  const shares = {
    statements: deps.statements,
    sign_ins: deps.signIns,
    sums: deps.sums,
    parsing: deps.parsing,
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
 * owner, until the database is done. A GET whose caller leaves gives up waiting.
 */
export function ofCall<Deps extends HttpDeps>(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: Deps,
): Deps {
  const { db, statements } = deps;
  const share = <T>(work: () => Promise<T>): Promise<T> =>
    inShare(statements, req.owner, 'reads and changes', work, bounds(req, reply, deps));
  const own: Database = {
    ...db,
    run: (statement) => share(() => db.run(statement)),
    tx: (work) => share(() => db.tx(work)),
  };
  return { ...deps, db: own };
}

/** Runs a call of the sign-in library, which takes its connections itself. */
export function inSignIn<T>(
  req: FastifyRequest,
  { signIns, metrics }: HttpDeps,
  work: () => Promise<T>,
): Promise<T> {
  return inShare(signIns, req.owner, 'signing in', work, { metrics });
}

/** Runs a sum, which may read very many rows. An owner makes one at a time. */
export function inSum<T>(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: HttpDeps,
  work: () => Promise<T>,
): Promise<T> {
  const details = { usage_sums_limit: 1 };
  return inShare(deps.sums, req.owner, 'sums', work, { ...bounds(req, reply, deps), details });
}

function bounds(req: FastifyRequest, reply: FastifyReply, { metrics }: HttpDeps) {
  if (req.method !== 'GET' && req.method !== 'HEAD') return { metrics };
  return { metrics, signal: leftOf(req, reply) };
}
