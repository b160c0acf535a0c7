import { createHash } from 'node:crypto';
import pg from 'pg';
import { codeOf, messageOf } from '../unknown.ts';
import { idleOf, isSilence, socketOf } from './silence.ts';
import { arrayLiteral } from './sql-array.ts';

/**
 * PostgreSQL with a tagged template and pipelining. A statement written with `sql` is prepared once
 * per connection under a name derived from its text. bigint columns and bigint[] are read as
 * `bigint`, timestamps as `Date`.
 *
 * The library `postgres` by porsager is not used, because it sends no statement before BEGIN is
 * answered and no COMMIT before the last write is answered, which costs two more round trips per
 * transaction.
 */
export interface Statement {
  text: string;
  values: unknown[];
  name?: string;
}

/**
 * Runs statements, either on the whole database, which repeats a statement after a deadlock, or in
 * one open transaction.
 */
export interface Connection {
  run<Row extends object = Record<string, unknown>>(statement: Statement): Promise<Row[]>;
}

export interface Transaction extends Connection {
  /**
   * Sends a write whose rows are not needed. It is sent at once and awaited before the transaction
   * ends, so that the last writes and COMMIT share one round trip. A failure fails the transaction.
   */
  send(statement: Statement): void;
}

export interface Database extends Connection {
  /**
   * Runs `work` in one transaction; after a deadlock or serialization failure `work` is run again
   * from the start.
   */
  tx<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** A connection outside the pool for session-wide use (advisory lock, LISTEN). */
  connect(): Promise<pg.Client>;
  /**
   * A connection of the pool, for a library that uses the driver directly. Release it afterwards.
   */
  checkout(): Promise<pg.PoolClient>;
  close(): Promise<void>;
  /** For /metrics. */
  stats(): { total: number; idle: number; waiting: number };
}

export interface DatabaseOptions {
  /** A URL, or the socket of an embedded server. */
  connection: string | { host: string; port: number; user: string; database: string };
  max: number;
  /** A statement that runs longer is cancelled by the server. */
  statementTimeoutMs: number;
  applicationName: string;
  /** A statement that each new connection runs first. */
  session?: string;
  onError?: (error: Error) => void;
  /**
   * `answered` is called after each statement or transaction that succeeded, `failed` if the server
   * was not reached or gave no answer.
   */
  watch?: { answered(): void; failed(error: unknown): void };
}

const { types } = pg;
const int8 = 20;
const int8Array = 1016;
const timestamptz = 1184;
types.setTypeParser(int8, BigInt);
// The driver's types declare neither the results of its parsers nor the numbers of its array types.
const parseTime = types.getTypeParser(timestamptz) as (text: string) => Date;
// A server in UTC writes a form that `Date` reads without the driver, in a third of the time.
types.setTypeParser(timestamptz, (text: string) =>
  text.length < 33 && text.endsWith('+00') && text[4] === '-'
    ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
    : parseTime(text),
);
const parseTextArray = types.getTypeParser(1009 as never) as (text: string) => (string | null)[];
types.setTypeParser(int8Array as never, (text: string) =>
  parseTextArray(text).map((item) => (item === null ? null : BigInt(item))),
);

/** SQLSTATEs of a database that cannot work now. The statement may have taken effect. */
const unavailableCodes = new Set([
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
  '25006',
  '53100',
  '58030',
  '57014',
]);
/** Error codes of a socket, or of resolving its host name. */
const unreachable = /^(ECONN|EPIPE|ENOENT|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET)/;
const retryCodes = new Set(['40001', '40P01']);
const transactionAborted = '25P02';
const attemptsMax = 5;

/** A piece of SQL. `bind` adds a value as a parameter and returns its `$n`. */
export interface Fragment {
  (bind: (value: unknown) => string): string;
  /** The parameters. Set only if the text is always the same at its place in a template. */
  parameters?: () => unknown[];
}

interface Named {
  text: string;
  name: string;
}

const templates = new WeakMap<TemplateStringsArray, Named>();
const texts = new Map<string, Named>();

/**
 * Builds a prepared statement. An interpolated fragment becomes part of its text; every other value
 * becomes a parameter.
 */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Statement {
  const known = templates.get(strings);
  if (known) return { text: known.text, values: values.flatMap(parametersOf), name: known.name };
  const sent: unknown[] = [];
  const bind = (value: unknown): string => {
    if (isFragment(value)) return value(bind);
    sent.push(...parametersOf(value));
    return `$${sent.length}`;
  };
  const pieces = values.map(bind);
  const { text, name } = named(
    strings.reduce((before, part, i) => `${before}${pieces[i - 1]}${part}`),
  );
  if (values.every((value) => !isFragment(value) || value.parameters))
    templates.set(strings, { text, name });
  return { text, values: sent, name };
}

function parametersOf(value: unknown): unknown[] {
  if (isFragment(value)) return value.parameters!();
  return [Array.isArray(value) ? arrayLiteral(value) : value];
}

function isFragment(value: unknown): value is Fragment {
  return typeof value === 'function';
}

function named(text: string): Named {
  let known = texts.get(text);
  if (!known) {
    known = { text, name: createHash('sha1').update(text).digest('base64url') };
    texts.set(text, known);
  }
  return known;
}

/** A piece of SQL without parameters. */
export function fragment(text: string): Fragment {
  return () => text;
}

/** A piece of SQL that is the same whenever its template is used. */
export function constant(text: string): Fragment {
  return Object.assign(fragment(text), { parameters: () => [] });
}

/**
 * A statement with a text built at run time, such as a list with optional filters; not prepared.
 */
export function rawSql(text: string, values: unknown[] = []): Statement {
  return { text, values };
}

/** The rows of a result. Their type is stated by the caller of `run`, and a test checks it. */
export function rowsIn<Row extends object>(result: pg.QueryResult): Row[] {
  return result.rows as Row[];
}

export function openDatabase(options: DatabaseOptions): Database {
  const config: pg.PoolConfig & { pipeline: boolean } = {
    ...(typeof options.connection === 'string'
      ? { connectionString: options.connection }
      : options.connection),
    max: options.max,
    pipeline: true,
    application_name: options.applicationName,
    query_timeout: options.statementTimeoutMs + 5_000,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
  };
  const pool = new pg.Pool(config);
  const { session, statementTimeoutMs } = options;
  const limited = sessionSettings(session, statementTimeoutMs);
  const onError = options.onError ?? (() => {});
  // The pool replaces an idle connection that breaks; without a listener the error would end the
  // process.
  pool.on('error', onError);
  pool.on('connect', (client) => {
    client.on('error', onError);
    // Not awaited, because a connection runs its statements in the order in which they were sent.
    client.query(limited).catch(onError);
  });
  const breakIdle = idleOf(pool);
  const judged = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const value = await again(work);
      options.watch?.answered();
      return value;
    } catch (error) {
      if (isSilence(error)) breakIdle();
      if (isAway(error)) options.watch?.failed(error);
      throw error;
    }
  };

  return {
    run: (statement) => judged(async () => rowsIn(await pool.query(statement))),
    tx: (work) => judged(() => transact(pool, work)),
    async connect() {
      const { max: _max, pipeline: _pipeline, ...rest } = config;
      const client = new pg.Client({ ...rest, query_timeout: 0 });
      client.on('error', onError);
      await client.connect();
      await client.query(sessionSettings(session, statementTimeoutMs, 0));
      return client;
    },
    checkout: () => pool.connect(),
    close: () => pool.end(),
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  };
}

/**
 * Sent after connecting, because a PgBouncer with default settings refuses a connection that states
 * these settings at its start.
 */
function sessionSettings(own: string | undefined, idleMs: number, statementMs = idleMs): string {
  // One plan suits lists of any length, and planning again costs more than most statements.
  return `set plan_cache_mode = force_generic_plan; set statement_timeout = ${statementMs};
    set idle_in_transaction_session_timeout = ${idleMs}; ${own ?? ''}`;
}

/**
 * A database whose statements and transactions are all part of this transaction, so that either all
 * of the writes take effect or none.
 */
export function within(db: Database, tx: Transaction): Database {
  return {
    ...db,
    run: (statement) => tx.run(statement),
    async tx(work) {
      const sent: Promise<unknown>[] = [];
      const send = (statement: Statement) => {
        const promise = tx.run(statement);
        promise.catch(() => {});
        sent.push(promise);
      };
      const value = await work({ run: (statement) => tx.run(statement), send });
      // A failed write throws its own error here, as it would at a commit.
      await Promise.all(sent);
      return value;
    },
  };
}

/** A deadlock or serialization failure has undone everything, so the work can be repeated. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attemptsMax || !retryCodes.has(codeOf(error))) throw error;
    }
  }
}

const held = new WeakSet<pg.PoolClient>();

/**
 * Statements sent in one turn of the event loop are written together, because one system call for
 * each would cost more than most of the statements.
 */
function holdTogether(client: pg.PoolClient): void {
  if (held.has(client)) return;
  const stream = socketOf(client);
  held.add(client);
  stream.cork();
  process.nextTick(() => {
    held.delete(client);
    stream.uncork();
  });
}

/** Gives the driver a query object, because it copies a plain object property by property. */
function ask(client: pg.PoolClient, { text, values, name }: Statement): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query(text, values, (error, result) =>
      error ? reject(error) : resolve(result),
    );
    client.query(Object.assign(query, { name }));
  });
}

async function transact<T>(pool: pg.Pool, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const sent: Promise<unknown>[] = [];
  let failure: unknown;
  const send = (statement: Statement) => {
    holdTogether(client);
    const promise = ask(client, statement);
    // A caller that awaits the promise gets the error too. Without such a caller, an unhandled
    // rejection would end the process.
    promise.catch((error: unknown) => (failure ??= error));
    return promise;
  };
  let broken: Error | undefined;
  try {
    sent.push(send(rawSql('begin')));
    const tx: Transaction = {
      run: async (statement) => rowsIn(await send(statement)),
      send: (statement) => void sent.push(send(statement)),
    };
    const value = await work(tx);
    const commit = send(rawSql('commit'));
    await Promise.all(sent);
    // If a pipelined statement has failed, the server answers COMMIT with ROLLBACK and no error.
    const { command } = await commit;
    // guard: commit-is-checked
    if (command !== 'COMMIT') throw new Error(`transaction ended with ${command}`);
    return value;
  } catch (error) {
    await client.query('rollback').catch((lost: Error) => (broken = lost));
    // Statements after the failed one only report that the transaction was aborted, or that the
    // silent connection was closed.
    const thrown = codeOf(error) === transactionAborted || isSilence(failure) ? failure : error;
    // The driver's own stack ends at the socket.
    if (thrown instanceof Error && thrown === failure) Error.captureStackTrace(thrown);
    throw thrown;
  } finally {
    client.release(broken);
  }
}

/** True if the database could not be reached or gave up: the caller may try again later. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (unavailableCodes.has(code) || unreachable.test(code)) return true;
  return /timeout|terminated|Connection (ended|closed)|not queryable|pool after calling end/i.test(
    error.message,
  );
}

/** Codes that come from a server that has answered, even if only to say that it gave up. */
const answeredCodes = new Set(['25006', '53100', '58030', '57014']);

/** True if the database could not be reached or did not answer. */
export function isAway(error: unknown): boolean {
  if (!isUnavailable(error) || answeredCodes.has(codeOf(error))) return false;
  // This process has closed the database itself.
  return !/pool after calling end/.test(messageOf(error));
}

/** True if the values of one item made the statement fail, so the others can succeed without it. */
export function isDataError(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error));
}
