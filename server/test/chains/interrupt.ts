import type { Rpc } from '../../src/chains/rpc.ts';
import type { Connection, Database } from '../../src/lib/sql/sql.ts';

/** Runs before and after each call that a reader makes. */
export type Step = () => Promise<void>;

/** Kills the process at this call: this and every later call fails. */
export function crashAt(call: number): { step: Step; hasCrashed: () => boolean } {
  let calls = 0;
  const step = () => {
    calls += 1;
    return calls > call ? Promise.reject(new Error('crashed')) : Promise.resolve();
  };
  return { step, hasCrashed: () => calls > call };
}

/** Does something else before this call. */
export function meanwhileAt(call: number, act: () => Promise<void>): Step {
  let calls = 0;
  return async () => {
    if (++calls === call) await act();
  };
}

export function steppedRpc(rpc: Rpc, step: Step): Rpc {
  return async (method, params) => {
    await step();
    return rpc(method, params);
  };
}

/**
 * Runs `step` around each call to the database. `inside`: also between the statements of a
 * transaction.
 */
export function steppedDatabase(db: Database, step: Step, inside: boolean): Database {
  const run: Connection['run'] = async (statement) => {
    await step();
    return db.run(statement);
  };
  const tx: Database['tx'] = async (work) => {
    await step();
    const result = await db.tx(async (open) => {
      const done = await work({
        ...open,
        run: async (statement) => {
          if (inside) await step();
          return open.run(statement);
        },
      });
      if (inside) await step();
      return done;
    });
    await step();
    return result;
  };
  return { ...db, run, tx };
}
