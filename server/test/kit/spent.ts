import { adjust } from './by-command-line.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import type { Service, TestAccount } from './service.ts';

/**
 * Gives the account transfers, three months of requests, and one queued job. The old requests have
 * no transfers; the returned function removes them.
 */
export async function spendForMonths(
  service: Service,
  account: TestAccount,
): Promise<() => Promise<unknown>> {
  const body = { prompt: 'a cat', num_images: 2 };
  const submit = () => account.post('/v1/queue/fake/image', body);
  await submit();
  for (let i = 0; i < 4; i++) {
    await service.wakeAll();
    await service.work();
  }
  await adjust(service.db, {
    account_id: account.account_id,
    amount: -1_250_000n,
    reference: 'ticket 881',
    reason: 'credited to the wrong account',
  });
  await submit();
  await service.db.run(sql`
    insert into requests (id, account_id, key_id, model_id, kind, upstream, status,
        quoted_usd_micro, charged_usd_micro, created_at, started_at, deadline_at, completed_at)
      select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
          || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid, ${account.account_id}, ${account.key_id},
        (array['fal/veo/text-to-video', 'fal/flux/dev', 'openai/gpt-5/chat', 'fal/kling/v2/master/image-to-video'])[1 + n % 4],
        (array['video', 'image', 'text', 'video'])[1 + n % 4], 'fake', 'COMPLETED',
        10000000, (n * 7919 % 1000) * (array[2500, 900, 61, 1400])[1 + n % 4], at, at, at, at
      from (select n, now() - make_interval(hours => n * 5) as at
        from generate_series(5, 420) n) d`);
  const away = `with days as (delete from spend_days where account_id = $1),
      done as (delete from spend_rollups where account_id = $1)
    delete from requests where account_id = $1 and id::text like '%-7000-8000-%'`;
  return () => service.db.run(rawSql(away, [account.account_id]));
}
