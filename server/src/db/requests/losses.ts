import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Requests of one model that cost more than their charges. */
export interface Loss {
  model_id: string;
  count: number;
  loss_usd_micro: bigint;
}

/**
 * The losses of the last day, largest first. Accounts that pay less than list prices are left out,
 * because their losses are the operator's own choice.
 */
export function readLossesOfDay(db: Connection): Promise<Loss[]> {
  return db.run<Loss>(sql`
    select r.model_id, count(*)::int as count, sum(s.loss_usd_micro)::bigint as loss_usd_micro
    from request_results s
      join requests r on r.id = s.request_id
      left join request_inputs i on i.request_id = s.request_id
    where s.loss_usd_micro is not null
      and s.created_at > now() - interval '1 day'
      and coalesce((i.quote ->> 'price_ppm')::bigint, 1000000) >= 1000000
    group by r.model_id
    order by sum(s.loss_usd_micro) desc, r.model_id
    limit 100`);
}
