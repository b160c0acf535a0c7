import type { Guard } from './guard.ts';

export const operator: Guard[] = [
  {
    guards: 'what a start that was left cost is booked once',
    file: 'src/db/accounts/revenue.ts',
    edits: [
      ['a.left_at is not null\n        and a.cost_usd_micro is null', 'a.left_at is not null'],
    ],
    test: 'test/web/left-starts.test.ts',
    name: 'is an unknown outcome beside its completed request',
  },
  {
    guards: 'a start that was left costs at the upstream that was left',
    file: 'src/db/accounts/revenue.ts',
    edits: [
      [
        '    a.upstream, null, null, a.cost_usd_micro',
        '    r.upstream, null, null, a.cost_usd_micro',
      ],
    ],
    test: 'test/web/left-starts.test.ts',
    name: 'counts on the day it was left',
  },
  {
    guards: 'one service to a data folder',
    file: 'src/commands/serve.ts',
    edits: [
      [`  if ('held_by' in claimed) {`, `  if ('held_by' in claimed && claimed.held_by === '') {`],
    ],
    test: 'test/commands/serve.test.ts',
    name: 'a second service in the folder is refused',
  },
  {
    guards: 'a start that is stopped leaves no PostgreSQL behind',
    file: 'src/commands/serve.ts',
    edits: [
      ['  const asked = stopSignal();\n', ''],
      ['signal: await asked', 'signal: await stopSignal()'],
    ],
    test: 'test/commands/serve.test.ts',
    name: 'stopped in the midst of its start',
  },
  {
    guards: 'a start that fails leaves no PostgreSQL behind',
    file: 'src/db/embedded/database.ts',
    edits: [['      if (!rows[0]!.found) return false;\n', '']],
    test: 'test/commands/serve.test.ts',
    name: 'a port in use is said in words',
  },
  {
    guards: 'a trial makes one demo key, not one a start',
    file: 'src/commands/trial.ts',
    edits: [['kept !== null && (await isLiving(db, kept, account_id))', 'kept === ""']],
    test: 'test/commands/trial.test.ts',
    name: 'a second start tells a human the same key',
  },
  {
    guards: 'a database that a newer version has migrated is left alone',
    file: 'src/db/migrate.ts',
    edits: [['if (applied.length > wanted.length)', 'if (applied.length > wanted.length + 9)']],
    test: 'test/db/migrate.test.ts',
    name: 'a database that a newer version has migrated',
  },
  {
    guards: 'a database that may lose what it committed is refused',
    file: 'src/database.ts',
    edits: [['if (unsafe.length > 0)', 'if (unsafe.length > 99)']],
    test: 'test/db/migrate.test.ts',
    name: 'stop the service from starting',
  },
  {
    guards: 'a verb leaves no PostgreSQL behind',
    file: 'src/commands/output.ts',
    edits: [['    await database.close();', '    await database.db.close();']],
    test: 'test/commands/verbs.test.ts',
    name: 'a verb starts the embedded database for itself and leaves none behind',
  },
  {
    guards: 'a verb beside a service leaves it its PostgreSQL',
    file: 'src/db/embedded.ts',
    edits: [['(await hasOtherClients(this.connection.host))', 'paths.cluster === ""']],
    test: 'test/db/embedded.test.ts',
    name: 'leaves the server to another process, to a client, and else stops it',
  },
  {
    guards: 'PostgreSQL that was killed comes back by itself',
    file: 'src/db/embedded.ts',
    edits: [['      this.#reviving = this.#revive();\n', '']],
    test: 'test/commands/trial.test.ts',
    name: 'its PostgreSQL comes back by itself',
  },
  {
    guards: 'serve --no-worker does no work',
    file: 'src/commands/serve.ts',
    edits: [['options.worker && config.FAREBOX_WORKER', 'config.FAREBOX_WORKER']],
    test: 'test/commands/serve.test.ts',
    name: 'a worker completes what waits where no service works',
  },
  {
    guards: 'a refusal ends with exit code 2',
    file: 'src/main.ts',
    edits: [['return expected ? 2 : 1;', 'return 1;']],
    test: 'test/commands/verbs.test.ts',
    name: 'what cannot be done is said in words, exit 2',
  },
];
