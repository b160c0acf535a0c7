import { NewAdjustment, NewCredit, NewReason, NewReference } from '../http/schemas/operator.ts';
import * as s from '../http/schemas/schema.ts';
import { flag, may, operand, row, says } from './command.ts';

/** The commands that are one word. Each loads its file when it runs. */

const release_open = flag('end unfinished requests and release their reservations');

export const programs = {
  trial: row(
    'start the whole product on embedded PostgreSQL with demo accounts (what npm start runs)',
    {},
    async (_given, context) => (await import('./trial/trial.ts')).trial(context),
  ),
  serve: row(
    'start the service: API and worker',
    {
      worker: s.boolean('API only; start `farebox worker` beside it', { default: true }),
      embedded: flag('use the embedded PostgreSQL and a generated secret'),
      processes: may(
        s.text(undefined, {
          pattern: '^(auto|[1-9]\\d?|1[01]\\d|12[0-8])$',
          rule: 'auto or an integer from 1 to 128',
        }),
        'serve with so many processes; auto: one for each core',
        'auto|n',
      ),
    },
    async (given, context) => (await import('./serve.ts')).serve(given, context),
  ),
  worker: row(
    'start a worker only',
    { embedded: flag('use the embedded PostgreSQL') },
    async (given, context) => (await import('./serve.ts')).work(given, context),
  ),
  migrate: row(
    'bring the database schema up to this version',
    {
      plan: flag('only show what it would lock and for how long; exit 1 if processes have to stop'),
      ignore_others: flag('even if processes of an earlier version seem to live'),
    },
    async (given, context) => (await import('./migrate.ts')).migrateDatabase(given, context),
  ),
  credit: row(
    'book a deposit; a repeated reference is booked only once',
    {
      email: operand(s.text()),
      usd: operand(says(NewCredit.amount_usd_micro, 'such as 5 or 0.50')),
      reference: says(
        NewReference,
        'name of the payment outside Farebox, such as a bank reference',
      ),
      source: { ...says(NewCredit.source, 'where the money came from'), default: 'paid' },
      expires: may(
        NewCredit.expires_at,
        'end of a bonus: its last day (UTC) or a time; what is unspent goes back',
      ),
      note: may(NewCredit.note, "for the operator's log"),
    },
    async (given, context) => (await import('./credit.ts')).credit(given, context),
    { many: async (rows, context) => (await import('./credit.ts')).creditMany(rows, context) },
  ),
  adjust: row(
    'correct a balance; a negative amount lowers it, a repeated reference is booked only once',
    {
      email: operand(s.text()),
      usd: operand(says(NewAdjustment.amount_usd_micro, 'such as 5 or -0.50')),
      reference: says(NewReference, 'name of the correction outside Farebox, such as a ticket'),
      reason: says(NewReason, 'the reason, for readers of the ledger'),
      allow_debt: flag('if more is taken than is available, the rest becomes a debt'),
    },
    async (given, context) => (await import('./credit.ts')).adjust(given, context),
  ),
  audit: row(
    'check the laws of the ledger; exit 1 if one is broken',
    {
      full: flag('prove all history, and not only what is new and a part of what is old'),
      head: flag('print the head of all seals'),
      since: may(s.text(), 'find what was changed below this head since it was printed', 'head'),
      mend: flag('compute wrong counters again, if no other law is broken'),
    },
    async (given, context) => (await import('./audit.ts')).auditBooks(given, context),
  ),
  doctor: row(
    'say what is wrong and what to do; exit 1 if something is',
    {},
    async (_given, context) => (await import('./doctor/doctor.ts')).doctor(context),
    { example: ['doctor --json', 'for a monitor, once an hour'] },
  ),
  top: row(
    'show traffic, queues, upstreams and money, renewed every 2 s on a screen',
    { once: flag('print one state and end, as without a screen') },
    async (given, context) => (await import('./top.ts')).top(given, context),
  ),
  export: row(
    'write everything into one snapshot file',
    { file: operand(s.text()) },
    async (given, context) => (await import('./snapshot.ts')).exportSnapshot(given, context),
  ),
  import: row(
    'read a snapshot into an empty database',
    { file: operand(s.text()), release_open },
    async (given, context) => (await import('./snapshot.ts')).importSnapshot(given, context),
  ),
  'resume-after-restore': row(
    'after a restore from a backup: let the database start jobs and send notifications again',
    { dry_run: flag('only show what it would do'), release_open },
    async (given, context) => (await import('./restored.ts')).resumeRestored(given, context),
  ),
  settings: row(
    'show the settings, where each comes from, and no secret',
    { all: flag('defaults, too') },
    async (given, context) => (await import('./settings.ts')).showSettings(given, context),
  ),
  generate: row('write openapi.json and the generated pages', {}, async () =>
    (await import('./generate.ts')).generate(),
  ),
};
