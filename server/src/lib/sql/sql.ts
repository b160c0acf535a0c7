import { createHash } from 'node:crypto';
import pg from 'pg';
import { outsideSpans } from '../trace.ts';
import { codeOf, errorOf } from '../unknown.ts';
import { WorkAbandoned, runUnlessAbandoned } from './abandoned.ts';
import { bindsChannel } from './address.ts';
import { openSessions } from './session.ts';
import { connectionOf, isSilence, replacementOf, socketOf } from './silence.ts';
import { arrayLiteral } from './sql-array.ts';
import { setParsers } from './values.ts';
import { WritePool, type Watch } from './writes.ts';

export { isAway, isDataError, isUnavailable } from './faults.ts';

/**
 * PostgreSQL with a tagged template and pipelining. A statement written with `sql` is prepared once
 * per connection under a name derived from its text. bigint columns and bigint[] are read as
 * `bigint`, timestamptz as `Date`.
 *
 * The library `postgres` by porsager is not used, because it sends no statement before BEGIN is
 * answered and no COMMIT before the last write is answered, which costs two more round trips per
 * transaction.
 */
export interface Statement<Row extends object = object> {
  text: string;
  values: unknown[];
  name?: string;
  /** Never set. It names the type of the rows, if the statement contains `columns`. */
  row?(row: Row): void;
}

/** The rows that have all columns of the lists among these values. */
type RowOfAll<Values extends unknown[]> = Values extends [infer First, ...infer Rest]
  ? (First extends Columns<infer Row> ? Row : object) & RowOfAll<Rest>
  : object;

/**
 * Runs statements, either on the whole database, which repeats a statement after a deadlock, or in
 * one open transaction.
 */
export interface Connection {
  run<Row extends object>(statement: Statement<Row>): Promise<Row[]>;
}

export interface Transaction extends Connection {
  /**
   * Sends a write whose rows are not needed. It is sent at once and awaited before the transaction
   * ends, so that the last writes and COMMIT share one round trip. A failure fails the transaction.
   */
  send(statement: Statement): void;
}

export interface Database extends Connection {
  /** `wanted`: when it fires, the server ends the statement soon. */
  run<Row extends object>(statement: Statement<Row>, wanted?: AbortSignal): Promise<Row[]>;
  /**
   * Runs `work` in one transaction; after a deadlock or serialization failure `work` is run again
   * from the start. `wanted`: when it fires, the transaction is undone soon.
   */
  tx<T>(work: (tx: Transaction) => Promise<T>, wanted?: AbortSignal): Promise<T>;
  /** A connection outside the pool for session-wide use (advisory lock, LISTEN). */
  connect(): Promise<pg.Client>;
  /**
   * A connection of the pool, for a library that uses the driver directly. Release it afterwards.
   */
  checkout(): Promise<pg.PoolClient>;
  /**
   * Resolves if writes work. Rejects if the database is away, is read-only, or its disk is full.
   */
  demandWrites(): Promise<void>;
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
  /** A statement that writes nothing, but is refused if writes are. */
  idleWrite?: string;
  onError?: (error: Error) => void;
  watch?: Watch;
}

setParsers();

const retryCodes = new Set(['40001', '40P01']);
const transactionAborted = '25P02';
const attemptsMax = 5;

/** A piece of SQL. `bind` adds a value as a parameter and returns its `$n`. */
export interface Fragment {
  (bind: (value: unknown) => string): string;
  /** The parameters. Set only if the text is always the same at its place in a template. */
  parameters?: () => unknown[];
}

/**
 * A select list that also says what its columns hold. A statement that contains it gives rows of
 * this type.
 */
export interface Columns<Row extends object> extends Fragment {
  /** Does nothing: its type is that of the rows. */
  row(row: Row): void;
}

interface NamedStatement {
  text: string;
  name: string;
}

const templates = new WeakMap<TemplateStringsArray, NamedStatement>();
const texts = new Map<string, NamedStatement>();

/**
 * Builds a prepared statement. An interpolated fragment becomes part of its text; every other value
 * becomes a parameter.
 */
export function sql<Values extends unknown[]>(
  strings: TemplateStringsArray,
  ...values: Values
): Statement<RowOfAll<Values>> {
  const known = templates.get(strings);
  if (known) return { text: known.text, values: values.flatMap(parametersOf), name: known.name };
  const sent: unknown[] = [];
  const bind = (value: unknown): string => {
    if (isFragment(value)) return value(bind);
    sent.push(...parametersOf(value));
    return `$${sent.length}`;
  };
  const pieces = values.map(bind);
  const { text, name } = nameStatement(
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

function nameStatement(text: string): NamedStatement {
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

/**
 * Closes the socket after an error. The driver leaves it open if it cannot answer the server's
 * question for a password, and the process would not end.
 */
class Client extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    connectionOf(this).on('error', () => socketOf(this).destroy());
  }
}

type PoolOptions = pg.PoolConfig & { pipeline: boolean };

/** A pool without settings of sessions, whose connections are named `name`. */
export function openPool(
  { connection, max, statementTimeoutMs, onError: tell }: Omit<DatabaseOptions, 'applicationName'>,
  name: string,
  onConnect?: PoolOptions['onConnect'],
) {
  const config: PoolOptions = {
    ...(typeof connection === 'string'
      ? { connectionString: connection, enableChannelBinding: bindsChannel(connection) }
      : connection),
    Client,
    max,
    pipeline: true,
    application_name: name,
    query_timeout: statementTimeoutMs + 5_000,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    onConnect,
  };
  const pool = new pg.Pool(config);
  const onError = (error: Error) => {
    if (!(error instanceof WorkAbandoned)) tell?.(error);
  };
  // The pool replaces an idle connection that breaks; without a listener the error would end the
  // process.
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  return { pool, config, onError };
}

/** For /metrics. */
export function poolStats(pool: pg.Pool): ReturnType<Database['stats']> {
  return { total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount };
}

export function openDatabase(options: DatabaseOptions): Database {
  const { applicationName: name, statementTimeoutMs: limitMs } = options;
  const begin = openSessions(name, options.session);
  const { pool, config, onError } = openPool(options, `${name} (starting)`, (client) =>
    begin(client, { statementMs: limitMs, idleMs: limitMs }),
  );
  const replacement = replacementOf(pool);
  const writes = new WritePool(pool, replacement, options);
  const runJudged = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const value = await retryConflicts(work);
      if (writes.isTroubled) await writes.recheck();
      return value;
    } catch (error) {
      if (isSilence(error))
        replacement.idle('an idle connection was closed because another one stopped answering');
      writes.noteFailure(error);
      throw error;
    }
  };

  return {
    run: (statement, wanted) => runJudged(async () => rowsIn(await query(pool, statement, wanted))),
    tx: (work, wanted) => runJudged(() => transact(pool, work, wanted)),
    async connect() {
      const { max: _max, pipeline: _pipeline, onConnect: _onConnect, ...rest } = config;
      const client = new Client({ ...rest, query_timeout: 0 });
      client.on('error', onError);
      await client.connect();
      try {
        await begin(client, { statementMs: 0, idleMs: limitMs });
      } catch (error) {
        await client.end();
        throw error;
      }
      return client;
    },
    checkout: () => connected(pool),
    demandWrites: () => writes.demand(),
    close: () => pool.end(),
    stats: () => poolStats(pool),
  };
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
async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
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

/** A connection, which may be made for this call, outlives it. */
function connected(pool: pg.Pool): Promise<pg.PoolClient> {
  return outsideSpans(() => pool.connect());
}

async function query(
  pool: pg.Pool,
  statement: Statement,
  wanted: AbortSignal | undefined,
): Promise<pg.QueryResult> {
  const client = await connected(pool);
  let broken: Error | undefined;
  try {
    return await runUnlessAbandoned(client, wanted, () => ask(client, statement));
  } catch (error) {
    broken = errorOf(error);
    // The driver's own stack ends at the socket.
    if (error === broken) Error.captureStackTrace(broken);
    throw error;
  } finally {
    client.release(broken);
  }
}

/** `opening`: what is sent first, instead of `begin`. */
export async function transact<T>(
  pool: pg.Pool,
  work: (tx: Transaction) => Promise<T>,
  wanted: AbortSignal | undefined,
  opening: Statement[] = [rawSql('begin')],
): Promise<T> {
  const client = await connected(pool);
  return runUnlessAbandoned(client, wanted, () => transactOn(client, work, opening));
}

async function transactOn<T>(
  client: pg.PoolClient,
  work: (tx: Transaction) => Promise<T>,
  opening: Statement[],
): Promise<T> {
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
    sent.push(...opening.map(send));
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
    const isBroken = isSilence(failure) || failure instanceof WorkAbandoned;
    const thrown = codeOf(error) === transactionAborted || isBroken ? failure : error;
    // The driver's own stack ends at the socket.
    if (thrown instanceof Error && thrown === failure) Error.captureStackTrace(thrown);
    throw thrown;
  } finally {
    client.release(broken);
  }
}
