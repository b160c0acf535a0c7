import { problems, readAttention } from '../../operations/attention.ts';
import { operatorEndpoint } from '../endpoint.ts';
import * as s from '../schemas/schema.ts';

/** Problems that need the operator now. */

const AttentionLine = s.namedObject('AttentionLine', {
  what: s.choice(problems, 'A kind of problem.'),
  count: s.integer(),
  of: s.list(s.text(), 'The first ones that have this problem.'),
  since: s.optional(s.time('When the oldest of them began.')),
});

/** GET /operator/attention: empty when all is well. */
export const list = operatorEndpoint(
  { reply: s.object({ data: s.list(AttentionLine) }) },
  async (_call, deps) => ({ data: await readAttention(deps) }),
);
