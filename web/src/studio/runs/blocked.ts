import type { Allowance, Estimate, Model } from '../../api-types.ts';
import { useAccount, useMay } from '../../session.tsx';
import type { Input } from '../form/draft.ts';
import { missing, type Field } from '../form/schema.ts';
import { shortage, type Shortage } from '../price.ts';

/** The reason why nothing can be run now. */
export type RunBlock =
  | { why: 'role' | 'suspended' | 'json' | 'unpriced' | 'pricing' | Shortage }
  | { why: 'missing'; fields: Field[] }
  | { why: 'stopped'; model: Model };

/** Why this form cannot be run on these models now; null if it can. */
export function useBlocked(form: {
  models: Model[];
  fields: Field[];
  input: Input;
  isBroken: boolean;
  quote: Estimate | undefined;
  unpriced: Error | null;
  isFresh: boolean;
  allowance: Allowance | undefined;
}): RunBlock | null {
  const { models, fields, input, isBroken, quote, unpriced, isFresh, allowance } = form;
  const { status } = useAccount();
  const mayRun = useMay('build');
  if (status !== 'active') return { why: 'suspended' };
  if (!mayRun) return { why: 'role' };
  const stopped = models.find((model) => model.status === 'stopped');
  if (stopped) return { why: 'stopped', model: stopped };
  if (isBroken) return { why: 'json' };
  const lacking = missing(fields, input);
  if (lacking.length > 0) return { why: 'missing', fields: lacking };
  if (unpriced) return { why: 'unpriced' };
  if (!quote || !allowance) return { why: 'pricing' };
  const short = shortage(allowance, quote.price_usd_micro, models.length);
  if (short) return { why: short };
  return isFresh ? null : { why: 'pricing' };
}
