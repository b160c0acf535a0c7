import { sql, type Connection } from '../../lib/sql/sql.ts';
import type { EarlierRequest } from './requests.ts';

/**
 * Requests whose caller sent no Idempotency-Key and did not get the reply. The request gets a key
 * made from its call, so that a repeat of the call finds it. The key has blanks, which no
 * caller's key has, and the time of the loss.
 */

/** How long after the loss a repeat is recognised. */
const repeatSeconds = 60;

/** The call of the request, by its fingerprint. */
export async function noteLost(db: Connection, requestId: string, print: Buffer): Promise<void> {
  await db.run(sql`
    update request_inputs set fingerprint = ${print}, idempotency_key = ${prefixOf(print)}
      || lpad(extract(epoch from now())::bigint::text, 12, '0') || ' ' || request_id
    where request_id = ${requestId} and idempotency_key is null`);
}

/** The newest request of this key for the same call whose reply was lost a short while ago. */
export async function findLost(
  db: Connection,
  { account_id, key_id }: { account_id: string; key_id: string },
  print: Buffer,
): Promise<EarlierRequest | null> {
  const start = prefixOf(print);
  const [row] = await db.run<EarlierRequest>(sql`
    select i.request_id, i.account_id, i.idempotency_key, i.fingerprint, r.model_id, r.kind,
      r.quoted_usd_micro, i.queue_position, i.quote->'unknown_inputs' as unknown_inputs
    from request_inputs i join requests r on r.id = i.request_id
    where i.account_id = ${account_id} and r.key_id = ${key_id}
      and i.idempotency_key > ${start}
        || lpad((extract(epoch from now())::bigint - ${repeatSeconds}::bigint)::text, 12, '0')
      and i.idempotency_key < ${start} || '9'
      and starts_with(i.idempotency_key, ${start})
    order by i.idempotency_key desc limit 1`);
  return row ?? null;
}

/** Notes that a repeat got the reply, so that the next such call makes a request of its own. */
export async function forgetLost(db: Connection, requestId: string, print: Buffer): Promise<void> {
  await db.run(sql`
    update request_inputs set fingerprint = null, idempotency_key = null
    where request_id = ${requestId} and starts_with(idempotency_key, ${prefixOf(print)})`);
}

function prefixOf(print: Buffer): string {
  return `lost ${print.toString('hex')} `;
}
