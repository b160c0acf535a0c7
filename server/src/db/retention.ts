import { sql, type Connection } from '../lib/sql/sql.ts';

/**
 * By how many seconds the oldest of what is deleted when its time is over is past it, and not
 * deleted yet; 0: none is.
 */
export function readOverdue(
  db: Connection,
  retentionDays: number,
): Promise<{ what: string; seconds: number }[]> {
  return db.run<{ what: string; seconds: number }>(sql`
    select what, greatest(0, coalesce(extract(epoch from now() - due), 0))::float8 as seconds
    from (values
      ('payloads', (select completed_at from requests
        where cleared_at is null and completed_at is not null and wake_at is null
        order by completed_at limit 1) + ${retentionDays} * interval '1 day'),
      ('outputs', (select min(expires_at) from requests
        where wake_at < now() + interval '5 minutes' and (status <> 'IN_QUEUE' or slot)
          and expires_at <= now())),
      ('files', (select min(expires_at) from files
        where coalesce(put_off_until, expires_at) < now() + interval '2 hours'
          and expires_at <= now())),
      ('erasures', (select created_at from erasures where ended_at is null order by id limit 1))
    ) as each (what, due)`);
}
