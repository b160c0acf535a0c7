import { useQuery } from '@tanstack/react-query';
import { call } from '../api.ts';
import type { Medium } from '../components/Media.tsx';
import { useAccount, useAccountPath } from '../session.tsx';
import { isOpen, type Entry } from './request-entries.ts';

/** Everything about a request, as the cabinet's call gives it. */
export interface Detail extends Omit<
  Entry,
  'outputs' | 'preview' | 'error_code' | 'webhook_state'
> {
  logs: string[];
  queue_position: number | null;
  error: { code: string; message: string } | null;
  input: Record<string, unknown>;
  quote: {
    unit: string;
    unit_price_usd_micro: string;
    quantity: number;
    breakdown: {
      label: string;
      quantity: number;
      unit_price_usd_micro: string;
      amount_usd_micro: string;
    }[];
    assumptions: Record<string, unknown>;
  };
  delivered_quantity: number | null;
  attempts: { at: string; outcome: string | null }[];
  output: Record<string, unknown> | null;
  outputs: (Medium & { index: number; field: string })[];
  expires_at: string | null;
  cleared_at: string | null;
  webhook: { url: string; state: 'pending' | 'delivered' | 'failed' | null } | null;
  deliveries: {
    at: string;
    status: number | null;
    error: string | null;
    duration_ms: number;
  }[];
}

/** How often an open request is looked at, should nothing be told of it: its place moves too. */
const lookMs = 5_000;

export function useRequest(request_id: string) {
  const { account_id } = useAccount();
  const path = useAccountPath();
  return useQuery({
    queryKey: ['account', account_id, 'request', request_id],
    queryFn: ({ signal }) => call<Detail>(path(`/requests/${request_id}`), { signal }),
    refetchInterval: ({ state }) => (state.data && isOpen(state.data) ? lookMs : false),
  });
}
