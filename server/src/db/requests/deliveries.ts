import { idsWritten, lastId } from '../../lib/id.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { fragment, sql, type Connection } from '../../lib/sql/sql.ts';

/** Notifications that were sent, with the answers of their receivers. */

export type DeliveryCause = 'final' | 'resend' | 'test' | 'low_balance';

const deliveryColumns = columns('d', {
  id: of<string>(),
  request_id: of<string | null>(),
  attempt: of<number | null>(),
  cause: of<DeliveryCause>(),
  url: of<string>(),
  status: of<number | null>(),
  error: of<string | null>(),
  duration_ms: of<number>(),
  created_at: of<Date>(),
});
export type DeliveryRow = RowOf<typeof deliveryColumns>;

/** Records a delivery that was not a step of a worker: a resend or test by hand, or an alert. */
export async function insert(
  db: Connection,
  delivery: {
    id: string;
    account_id: string;
    request_id: string | null;
    cause: Exclude<DeliveryCause, 'final'>;
    url: string;
    status: number | null;
    error: string | null;
    duration_ms: number;
  },
): Promise<void> {
  const { id, account_id, request_id, cause, url, status, error, duration_ms } = delivery;
  await db.run(sql`
    insert into webhook_deliveries (id, account_id, request_id, cause, url, status, error,
      duration_ms)
    values (${id}, ${account_id}, ${request_id}, ${cause}, ${url}, ${status},
      ${error?.slice(0, 500) ?? null}, ${duration_ms})`);
}

/** Whether an alert of this account was sent since `at`, whatever its result. */
export async function hasAlertedSince(
  db: Connection,
  accountId: string,
  at: Date,
): Promise<boolean> {
  const rows = await db.run(sql`
    select from webhook_deliveries
    where account_id = ${accountId} and id >= ${idsWritten(at.getTime(), null).first}
      and cause = 'low_balance' and created_at >= ${at}::timestamptz limit 1`);
  return rows.length > 0;
}

/** Notes that a repeated delivery has succeeded. */
export async function noteResent(db: Connection, requestId: string): Promise<void> {
  await db.run(sql`
    update requests set webhook_state = 'delivered'
    where id = ${requestId} and webhook_state = 'failed'`);
}

/** Deliveries about one request, newest first. */
export function listOfRequest(
  db: Connection,
  { request_id, below_id, limit }: { request_id: string; below_id: string | null; limit: number },
): Promise<DeliveryRow[]> {
  return db.run(sql`
    select ${deliveryColumns} from webhook_deliveries d
    where request_id = ${request_id} and id < ${below_id ?? lastId}::uuid
    order by id desc limit ${limit}`);
}

/** Deliveries that are shown with their request. */
const beside = 100;

/** The newest deliveries about one request, oldest first. */
export async function listNewestOf(db: Connection, request_id: string): Promise<DeliveryRow[]> {
  return (await listOfRequest(db, { request_id, below_id: null, limit: beside })).toReversed();
}

/** Deliveries of an account, newest first; with `failed`, only failed ones. */
export function list(
  db: Connection,
  page: { account_id: string; failed: boolean; below_id: string | null; limit: number },
): Promise<DeliveryRow[]> {
  // A partial index has the failed ones. PostgreSQL uses it only if the SQL has its condition.
  const failed = fragment(
    page.failed ? '(status is null or status not between 200 and 299)' : 'true',
  );
  return db.run(sql`
    select ${deliveryColumns} from webhook_deliveries d
    where account_id = ${page.account_id}
      and id < ${page.below_id ?? lastId}::uuid
      and ${failed}
    order by id desc limit ${page.limit}`);
}

/** How many deliveries of an account failed since a moment; at most `most` are counted. */
export async function countFailedSince(
  db: Connection,
  account_id: string,
  since: Date,
  most: number,
): Promise<number> {
  const [row] = await db.run<{ failed: number }>(sql`
    select count(*)::int as failed from (
      select from webhook_deliveries
      where account_id = ${account_id} and id >= ${idsWritten(since.getTime(), null).first}
        and (status is null or status not between 200 and 299)
      limit ${most}) newest`);
  return row?.failed ?? 0;
}

/** Deletes old deliveries without a request. `clearPayloads` deletes the deliveries of requests. */
export async function clear(db: Connection, olderThanDays: number, limit: number): Promise<number> {
  const rows = await db.run(sql`
    delete from webhook_deliveries where id = any(array(
      select id from webhook_deliveries
      where request_id is null and created_at < now() - ${olderThanDays} * interval '1 day'
      limit ${limit}))
    returning id`);
  return rows.length;
}
