import { rawSql } from '../../src/lib/sql/sql.ts';
import type { Service } from './service.ts';

const tables = [
  'requests',
  'request_inputs',
  'request_results',
  'attempts',
  'outputs',
  'files',
  'transfers',
  'webhook_deliveries',
  'accounts',
  'keys',
];

/**
 * Counts everything that calls can leave behind. If two results are equal, the calls between them
 * left nothing.
 */
export async function traces(service: Service): Promise<Record<string, bigint | number>> {
  const counts = tables.map((table) => `(select count(*) from ${table}) as ${table}`).join(', ');
  const [row] = await service.db.run<Record<string, bigint>>(
    rawSql(`select ${counts},
    (select coalesce(sum(debits_pending), 0)::bigint from balances) as reserved,
    (select coalesce(sum(debits_posted), 0)::bigint from balances) as charged,
    (select coalesce(sum(open_requests), 0)::bigint from key_usage) as open_jobs,
    (select count(*) from requests where status in ('IN_QUEUE', 'IN_PROGRESS')) as open_requests`),
  );
  const { starts, chats } = service.fake;
  return { ...row, upstream_starts: starts.length, upstream_chats: chats.length };
}
