// Made by `npm run generate` from the schemas beside the handlers.

/** What each call takes and answers; amounts are decimal texts of micro-USD, times ISO 8601. */
export interface Calls {
  'GET /api/accounts/:account_id/keys': {
    query: {
      state?: 'active' | 'all';
      /** Entries of a page. */
      limit?: number;
      /** `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: {
      data: Array<Key>;
      next_cursor: string | null;
      studio: Key;
      defaults: {
        rpm: number;
        open_jobs: number;
      };
      /** What the operator has set: people may go lower. Null: nothing. */
      ceilings: KeyCeilings;
      refused: Array<RefusedCalls>;
    };
  };
  'POST /api/accounts/:account_id/keys': {
    body: {
      name: string;
      monthly_limit_usd_micro?: string | null;
      expires_at?: string | null;
      models?: Array<string> | null;
      rpm?: number | null;
      open_jobs?: number | null;
    };
    reply: NewKey;
  };
  'GET /api/accounts/:account_id/keys/:key_id': {
    reply: Key;
  };
  'PATCH /api/accounts/:account_id/keys/:key_id': {
    body: {
      name?: string;
      monthly_limit_usd_micro?: string | null;
      expires_at?: string | null;
      models?: Array<string> | null;
      rpm?: number | null;
      open_jobs?: number | null;
    };
    reply: Key;
  };
  'POST /api/accounts/:account_id/keys/:key_id/rotate': {
    body: {
      last4: string;
      overlap_hours: number;
    };
    reply: NewKey;
  };
  'DELETE /api/accounts/:account_id/keys/:key_id/previous': {
    reply: Key;
  };
  'DELETE /api/accounts/:account_id/keys/:key_id': {
    reply: Key;
  };
  'GET /api/operator/vouchers': {
    query: {
      /** Entries of a page. */
      limit?: number;
      /** `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: {
      data: Array<Voucher>;
      next_cursor: string | null;
    };
  };
  'POST /api/operator/vouchers': {
    body: {
      amount_usd_micro: string;
      count: number;
      note?: string | null;
      expires_at?: string | null;
    };
    reply: {
      data: Array<{
        id: string;
        code: string;
      }>;
    };
  };
  'POST /api/operator/vouchers/:voucher_id/void': {
    reply: {
      status: 'void';
    };
  };
}

export type Key = {
  key_id: string;
  name: string;
  /** First and last characters. */
  hint: string;
  last4: string;
  is_studio: boolean;
  state: 'active' | 'expired' | 'revoked';
  monthly_limit_usd_micro: string | null;
  monthly_ceiling_usd_micro: string | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
  /** In this month (UTC), what is reserved included. */
  spent_usd_micro: string;
  reserved_usd_micro: string;
  resets_at: string;
  rpm: number | null;
  open_jobs: number | null;
  open_requests: number;
  models: Array<string> | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Until when the secret before the last rotation works. */
  previous_until: string | null;
  last_used_at: string | null;
  /** Newest call with the secret before the last rotation. */
  previous_used_at: string | null;
};

/** What the operator has set: people may go lower. Null: nothing. */
export type KeyCeilings = {
  monthly_ceiling_usd_micro: string | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
};

export type RefusedCalls = {
  key_id: string;
  name: string;
  code: string;
  calls: number;
};

export type NewKey = {
  /** The secret. */
  key: string;
  key_id: string;
  name: string;
  /** First and last characters. */
  hint: string;
  last4: string;
  is_studio: boolean;
  state: 'active' | 'expired' | 'revoked';
  monthly_limit_usd_micro: string | null;
  monthly_ceiling_usd_micro: string | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
  /** In this month (UTC), what is reserved included. */
  spent_usd_micro: string;
  reserved_usd_micro: string;
  resets_at: string;
  rpm: number | null;
  open_jobs: number | null;
  open_requests: number;
  models: Array<string> | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Until when the secret before the last rotation works. */
  previous_until: string | null;
  last_used_at: string | null;
  /** Newest call with the secret before the last rotation. */
  previous_used_at: string | null;
};

export type Voucher = {
  voucher_id: string;
  last4: string;
  amount_usd_micro: string;
  note: string | null;
  status: 'open' | 'redeemed' | 'void' | 'expired';
  /** The operator's e-mail address. */
  created_by: string | null;
  created_at: string;
  expires_at: string | null;
  redeemed_at: string | null;
  redeemed_by: string | null;
  redeemed_by_name: string | null;
};
