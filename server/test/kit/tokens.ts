import assert from 'node:assert/strict';
import { sql } from '../../src/lib/sql/sql.ts';
import type { Service } from './service.ts';

/**
 * Asserts that the stored tokens of every chat match its charge, at one micro-USD for a prompt
 * token and two for a completion token.
 */
export async function assertTokensCharged({ db }: Pick<Service, 'db'>): Promise<void> {
  const odd = await db.run(sql`select r.id, r.charged_usd_micro, s.input_tokens, s.output_tokens
      from requests r join request_results s on s.request_id = r.id
      where r.kind = 'text' and r.charged_usd_micro is distinct from case r.status
        when 'COMPLETED' then least(s.input_tokens + 2 * s.output_tokens, r.quoted_usd_micro)
        else coalesce(s.input_tokens, 0) end`);
  assert.deepEqual(odd, []);
}
