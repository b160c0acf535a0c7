// Made by `npm run generate` from the schemas beside the handlers.

import type * as client from '../../client/src/types.ts';

/** A type of the client as it is sent: the client makes amounts bigint. */
type Wire<T> = T extends bigint ? string : T extends object ? { [K in keyof T]: Wire<T[K]> } : T;

/** Request and reply of each call; amounts are decimal texts of micro-USD, times ISO 8601. */
export interface Calls {
  'GET /api/web': { reply: WebSettings };
  'POST /api/sign-up': {
    body: {
      name: string;
      /** An e-mail address. */
      email: string;
      password: string;
      token?: string | null;
    };
    reply: { status: 'check_mail' | 'sign_in' };
  };
  'POST /api/invitation': { body: { token: string }; reply: Invitation };
  'POST /api/email': {
    body: {
      token: string;
      /** Required in a browser that is not known to be theirs. */
      password?: string;
    };
    reply: { email: string };
  };
  'POST /api/confirm': {
    body: {
      token: string;
      /** Required in a browser that is not known to be theirs. */
      password?: string;
    };
    reply: { email: string };
  };
  'POST /api/auth/reset-password': {
    body: { newPassword: string; token: string };
    reply: { status: true };
  };
  'GET /api/me': { reply: Me };
  'PATCH /api/me': { body: { name: string }; reply: { name: string } };
  'POST /api/me/email': {
    body: {
      /** An e-mail address. */
      email: string;
      /** Required if the person has a password. */
      password?: string;
    };
    reply: { status: 'check_mail' };
  };
  'GET /api/me/security': { reply: Security };
  'DELETE /api/me/sessions': { reply: { ended: number } };
  'DELETE /api/me/sessions/:session_id': { reply: { session_id: string } };
  'POST /api/me/account': { reply: { account_id: string } };
  'POST /api/invitation/accept': {
    body: { token: string };
    reply: { account_id: string | null };
  };
  'GET /api/accounts/:account_id/balance': { reply: Funds };
  'GET /api/accounts/:account_id/team': { reply: Team };
  'PATCH /api/accounts/:account_id/account': { body: { name: string }; reply: { name: string } };
  'PUT /api/accounts/:account_id/billed-to': {
    body: { billed_to: string };
    reply: { billed_to: string | null };
  };
  'PATCH /api/accounts/:account_id/members/:person_id': {
    body: { role: Role };
    reply: { person_id: string; role: Role };
  };
  'DELETE /api/accounts/:account_id/members/:person_id': { reply: { person_id: string } };
  'POST /api/accounts/:account_id/leave': { reply: { account_id: string } };
  'POST /api/accounts/:account_id/invitations': {
    body: {
      /** An e-mail address. */
      email: string;
      role: Role;
    };
    reply: NewInvitation;
  };
  'DELETE /api/accounts/:account_id/invitations/:invitation_id': { reply: { invitation_id: string } };
  'GET /api/accounts/:account_id/requests': {
    query: {
      /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
      status?: Status;
      /** Only requests of this model. */
      model_id?: string;
      /** Only requests made with this key. */
      key_id?: string;
      /** Only requests of this person, who was signed in. */
      person_id?: string;
      /** Only requests created at this moment or later: an ISO 8601 date, or a time with `Z` or an offset (write `+` as `%2B`): `2026-01-31`, `2026-01-31T00:00:00Z`. */
      from?: string;
      /** Only requests created before this moment: an ISO 8601 date, or a time with `Z` or an offset (write `+` as `%2B`): `2026-01-31`, `2026-01-31T00:00:00Z`. */
      to?: string;
      /** Only requests with this pair: NAME=VALUE. */
      metadata?: string;
      /** A request id, its beginning, or a number of its call. */
      id?: string;
      /** Entries of a page. */
      limit?: number;
      cursor?: string;
    };
    reply: RequestPage;
  };
  'GET /api/accounts/:account_id/requests/choices': {
    reply: {
      keys: Array<KeyName>;
      /** The people of the account. */
      people: Array<PersonName>;
    };
  };
  'GET /api/accounts/:account_id/requests/:request_id': { reply: RequestDetail };
  'GET /api/accounts/:account_id/library': {
    query: {
      /** Words that the prompt has, in any order. */
      q?: string;
      kind?: 'image' | 'video';
      /** Only of this model. */
      model_id?: string;
      /** Created at this time or later. */
      from?: string;
      /** Created before this time. */
      to?: string;
      /** True: only favorites. */
      favorites?: boolean;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: LibraryPage;
  };
  'GET /api/accounts/:account_id/library/zip': {
    query: {
      /** At most 100 ids of requests, with commas between. */
      ids: string;
    };
    reply: unknown;
  };
  'PUT /api/accounts/:account_id/requests/:request_id/favorite': { reply: { favorite: boolean } };
  'DELETE /api/accounts/:account_id/requests/:request_id/favorite': { reply: { favorite: boolean } };
  'GET /api/accounts/:account_id/keys': {
    query: {
      state?: 'active' | 'all';
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: {
      data: Array<Key>;
      next_cursor: string | null;
      studio: Key;
      defaults: { rpm: number; open_jobs: number };
      /** The operator's limits; people may set lower ones. Null: unlimited. */
      ceilings: KeyCeilings;
      refused: Array<RefusedCalls>;
    };
  };
  'POST /api/accounts/:account_id/keys': {
    body: {
      name: string;
      /** The most that it may charge and reserve in a month (UTC). Null: unlimited. */
      monthly_limit_usd_micro?: string | null;
      /** When it stops working. Null: never. */
      expires_at?: string | null;
      /** The only models that it may use. Null: all. */
      models?: Array<string> | null;
      /** Calls a minute. Null: the service's usual limit. */
      rpm?: number | null;
      /** Open jobs at once. Null: the service's usual limit. */
      open_jobs?: number | null;
      scope?: 'spend' | 'keys';
    };
    reply: NewKey;
  };
  'GET /api/accounts/:account_id/keys/:key_id': { reply: Key };
  'PATCH /api/accounts/:account_id/keys/:key_id': {
    body: {
      name?: string;
      /** The most that it may charge and reserve in a month (UTC). Null: unlimited. */
      monthly_limit_usd_micro?: string | null;
      /** When it stops working. Null: never. */
      expires_at?: string | null;
      /** The only models that it may use. Null: all. */
      models?: Array<string> | null;
      /** Calls a minute. Null: the service's usual limit. */
      rpm?: number | null;
      /** Open jobs at once. Null: the service's usual limit. */
      open_jobs?: number | null;
    };
    reply: Key;
  };
  'POST /api/accounts/:account_id/keys/:key_id/rotate': {
    body: { last4: string; overlap_hours: number };
    reply: NewKey;
  };
  'DELETE /api/accounts/:account_id/keys/:key_id/previous': { reply: Key };
  'DELETE /api/accounts/:account_id/keys/:key_id': { reply: Key };
  'GET /api/accounts/:account_id/overview': { reply: Overview };
  'GET /api/accounts/:account_id/spend': { query: { days?: 7 | 30 | 90 }; reply: Spend };
  'GET /api/accounts/:account_id/statement': {
    query: {
      /** One or more of deposit, adjustment, reserve, charge, release, debt, expiry, with commas between. */
      kind?: string;
      from?: string;
      to?: string;
      /** Entries of a page. */
      limit?: number;
      cursor?: string;
    };
    reply: { data: Array<Movement>; next_cursor: string | null };
  };
  'GET /api/accounts/:account_id/statement/lines': {
    query: {
      /** One or more of deposit, adjustment, reserve, charge, release, debt, expiry, with commas between. */
      kind?: string;
      from?: string;
      to?: string;
      /** Entries of a page. */
      limit?: number;
      cursor?: string;
    };
    reply: { data: Array<StatementLine>; next_cursor: string | null };
  };
  'GET /api/accounts/:account_id/statement/totals': {
    query: {
      /** One or more of deposit, adjustment, reserve, charge, release, debt, expiry, with commas between. */
      kind?: string;
      from?: string;
      to?: string;
    };
    reply: StatementTotals;
  };
  'GET /api/accounts/:account_id/statement/export': {
    query: {
      format?: 'csv' | 'json';
      /** One or more of deposit, adjustment, reserve, charge, release, debt, expiry, with commas between. */
      kind?: string;
      from?: string;
      to?: string;
    };
    reply: unknown;
  };
  'GET /api/accounts/:account_id/receipts/:transfer_id': { reply: Receipt };
  'GET /api/accounts/:account_id/top-up': {
    reply: {
      /** How to pay, in the operator's words. */
      text: string | null;
      /** Whether a chain is set up. */
      takes_usdt: boolean;
      account_id: string;
      email: string;
    };
  };
  'POST /api/accounts/:account_id/vouchers': {
    body: { code: string };
    reply: {
      transfer_id: string;
      replayed: boolean;
      amount_usd_micro: string;
      /** The amount that the account may spend. */
      available_usd_micro: string;
      /** Reserved for open requests. */
      reserved_usd_micro: string;
      /** Paid first by the next top-up. */
      debt_usd_micro: string;
    };
  };
  'POST /api/accounts/:account_id/deposit-addresses': { body: { chain: string }; reply: { address: string } };
  'POST /api/accounts/:account_id/play-deposits': { reply: Record<string, unknown> };
  'GET /api/accounts/:account_id/alerts': { reply: AlertSettings };
  'PUT /api/accounts/:account_id/alerts': {
    body: {
      low_balance_usd_micro?: string | null;
      emails: boolean;
      webhook_url?: string | null;
      /** A key has used 80 % of its monthly limit, or all of it. */
      key_limits?: boolean;
      /** The newest 5 webhooks all failed within an hour. */
      failing_webhooks?: boolean;
      /** At least 10 jobs ended within an hour, and more than half failed. */
      failing_jobs?: boolean;
    };
    reply: AlertSettings;
  };
  'GET /api/accounts/:account_id/webhooks': { reply: WebhookSecrets };
  'POST /api/accounts/:account_id/webhooks/rotate': { reply: WebhookSecrets };
  'POST /api/accounts/:account_id/webhooks/retire': { reply: WebhookSecrets };
  'POST /api/accounts/:account_id/webhooks/test': { body: { url: string }; reply: SendResult };
  'GET /api/accounts/:account_id/deliveries': {
    query: {
      /** Only failed deliveries. */
      failed?: boolean;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<Delivery>; next_cursor: string | null };
  };
  'GET /api/accounts/:account_id/requests/:request_id/deliveries': {
    query: {
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<Delivery>; next_cursor: string | null };
  };
  'POST /api/accounts/:account_id/requests/:request_id/resend': { reply: SendResult };
  'GET /api/accounts/:account_id/v1/balance': { reply: Balance };
  'GET /api/accounts/:account_id/v1/deposit-addresses': { reply: DepositAddressList };
  'GET /api/accounts/:account_id/v1/deposits': {
    query: {
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: DepositList;
  };
  'POST /api/accounts/:account_id/v1/estimate': { body: EstimateRequest; reply: Estimate };
  'POST /api/accounts/:account_id/v1/chat/completions': { body: ChatRequest; reply: ChatCompletion };
  'POST /api/accounts/:account_id/v1/queue/*': { body: ModelInput; reply: QueuedRequest };
  'GET /api/accounts/:account_id/v1/requests': {
    query: {
      /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
      status?: Status;
      /** Only requests of this model. */
      model_id?: string;
      /** Only requests made with this key. */
      key_id?: string;
      /** Only requests of this person, who was signed in. */
      person_id?: string;
      /** Only requests created at this moment or later: an ISO 8601 date, or a time with `Z` or an offset (write `+` as `%2B`): `2026-01-31`, `2026-01-31T00:00:00Z`. */
      from?: string;
      /** Only requests created before this moment: an ISO 8601 date, or a time with `Z` or an offset (write `+` as `%2B`): `2026-01-31`, `2026-01-31T00:00:00Z`. */
      to?: string;
      /** Only requests of the call with this number: `call_id`, that of a repeat, or `caller_id`. */
      call_id?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: RequestList;
  };
  'GET /api/accounts/:account_id/v1/requests/:request_id': { reply: RequestCard };
  'GET /api/accounts/:account_id/v1/requests/:request_id/status': {
    query: {
      /** The reply waits until the state changes, at most this many seconds. */
      wait?: number;
      /** `final`: a waiting call returns only at a final state. `change`: at any new state. Without `wait`, `until=final` waits up to 60 seconds. */
      until?: 'change' | 'final';
    };
    reply: RequestStatus;
  };
  'GET /api/accounts/:account_id/v1/requests/:request_id/status/stream': { reply: unknown };
  'GET /api/accounts/:account_id/v1/requests/:request_id/response': { reply: ModelOutput };
  'POST /api/accounts/:account_id/v1/requests/:request_id/cancel': {
    query: {
      /** True: also asks a running job to stop, if the model has `on_cancel`. */
      running?: boolean;
    };
    reply: Cancelled;
  };
  'PUT /api/accounts/:account_id/v1/requests/:request_id/cancel': {
    query: {
      /** True: also asks a running job to stop, if the model has `on_cancel`. */
      running?: boolean;
    };
    reply: Cancelled;
  };
  'DELETE /api/accounts/:account_id/v1/requests/:request_id/output': { reply: DeletedOutput };
  'GET /api/accounts/:account_id/v1/usage': {
    query: {
      /** One or more of `day`, `model`, `key`, `person` and `metadata.NAME`, with commas between; at most 2 names, none with a comma. */
      by: string;
      /** Only requests of this model. */
      model_id?: string;
      /** Only requests made with this key. */
      key_id?: string;
      /** The first day (UTC). Default: 30 days before `to`. */
      from?: string;
      /** The day after the last one. Default: tomorrow. */
      to?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<UsageLine>; next_cursor: string | null };
  };
  'GET /api/accounts/:account_id/v1/refusals': {
    query: {
      /** Only calls at this moment or later. */
      from?: string;
      /** Only calls before this moment. */
      to?: string;
      /** Only with this code. */
      code?: 'bad_request' | 'unknown_model' | 'unpriceable' | 'invalid_input' | 'bad_webhook_url' | 'bad_messages' | 'context_length_exceeded' | 'use_chat_completions' | 'unauthorized' | 'insufficient_balance' | 'key_limit_reached' | 'forbidden' | 'not_found' | 'method_not_allowed' | 'idempotency_conflict' | 'request_not_ready' | 'not_cancellable' | 'expired' | 'payload_too_large' | 'unsupported_media_type' | 'rate_limited';
      /** Only calls of this model. */
      model_id?: string;
      /** Only calls with this key. */
      key_id?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<Refusal>; next_cursor: string | null };
  };
  'POST /api/accounts/:account_id/v1/files': { reply: UploadedFile };
  'GET /api/accounts/:account_id/studio/allowance': { reply: Allowance };
  'GET /api/accounts/:account_id/studio/models': {
    reply: {
      data: Array<Model>;
      /** Paths of pictures that show what models make, by model id. */
      samples: Record<string, string>;
    };
  };
  'POST /api/accounts/:account_id/studio/chat-price': { body: ChatRequest; reply: ChatPrice };
  'GET /api/operator/overview': {
    query: { days?: '1' | '7' | '30' | '90' };
    reply: Revenue;
  };
  'GET /api/operator/attention': { reply: { data: Array<AttentionLine> } };
  'POST /api/operator/audit': { reply: { proved: boolean; books: AuditResult | null } };
  'GET /api/operator/accounts': {
    query: {
      /** The start of a word in a name or e-mail address; an id of an account, person, key, request or payment; the number of a call, ours or the caller's own; a payment reference; a key as shown; or a voucher's code, last characters or note. */
      q?: string;
      /** Only accounts of this kind. */
      only?: 'active' | 'suspended' | 'operators';
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<FoundAccount>; next_cursor: string | null };
  };
  'POST /api/operator/accounts': {
    body: {
      /** An e-mail address. */
      email: string;
      /** True: the reply has a link with which the person at this address becomes the owner. */
      invite?: boolean;
      /** A first deposit. It needs the scope money. */
      credit_usd_micro?: string | null;
      /** The name of that payment outside Farebox. */
      reference?: string | null;
    };
    reply: MadeAccount;
  };
  'GET /api/operator/accounts/:account_id': { reply: OperatorAccount };
  'GET /api/operator/accounts/:account_id/export': { reply: unknown };
  'POST /api/operator/accounts/:account_id/credits': {
    body: {
      amount_usd_micro: string;
      /** The name of the payment or correction outside Farebox. */
      reference: string;
      /** Where the money came from. */
      source: 'paid' | 'bonus' | 'refund';
      /** For a bonus: when its unspent rest is taken back. */
      expires_at?: string | null;
      /** For the operator's log. */
      note?: string;
    };
    reply: Booking;
  };
  'POST /api/operator/accounts/:account_id/adjustments': {
    body: {
      /** The correction; a negative amount takes money. */
      amount_usd_micro: string;
      /** The name of the payment or correction outside Farebox. */
      reference: string;
      /** Shown in the statement. */
      reason: string;
      /** True: what the available balance does not cover becomes a debt. False: the call is refused. */
      allows_debt?: boolean;
    };
    reply: Booking;
  };
  'POST /api/operator/accounts/:account_id/suspend': { reply: AccountStatus };
  'POST /api/operator/accounts/:account_id/resume': { reply: AccountStatus };
  'PUT /api/operator/accounts/:account_id/price': {
    body: { price_ppm: number };
    reply: { price_ppm: number };
  };
  'PUT /api/operator/accounts/:account_id/keys-by-api': {
    body: { keys_by_api: boolean };
    reply: { keys_by_api: boolean };
  };
  'GET /api/operator/accounts/:account_id/statement': {
    query: {
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<AccountMovement>; next_cursor: string | null };
  };
  'GET /api/operator/accounts/:account_id/receipts/:transfer_id': { reply: Receipt };
  'GET /api/operator/accounts/:account_id/keys': {
    query: {
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: AccountKeyList;
  };
  'POST /api/operator/accounts/:account_id/keys': {
    body: {
      name: string;
      /** The most that it may charge and reserve in a month (UTC). Null: unlimited. */
      monthly_limit_usd_micro?: string | null;
      /** When it stops working. Null: never. */
      expires_at?: string | null;
      /** The only models that it may use. Null: all. */
      models?: Array<string> | null;
      /** Calls a minute. Null: the service's usual limit. */
      rpm?: number | null;
      /** Open jobs at once. Null: the service's usual limit. */
      open_jobs?: number | null;
    };
    reply: NewAccountKey;
  };
  'PATCH /api/operator/keys/:key_id': {
    body: {
      name?: string;
      /** The most that it may charge and reserve in a month (UTC). Null: unlimited. */
      monthly_limit_usd_micro?: string | null;
      /** When it stops working. Null: never. */
      expires_at?: string | null;
      /** The only models that it may use. Null: all. */
      models?: Array<string> | null;
      /** Calls a minute. Null: the service's usual limit. */
      rpm?: number | null;
      /** Open jobs at once. Null: the service's usual limit. */
      open_jobs?: number | null;
    };
    reply: AccountKey;
  };
  'DELETE /api/operator/keys/:key_id': { reply: AccountKey };
  'POST /api/operator/accounts/:account_id/invitations': {
    body: {
      /** An e-mail address. */
      email: string;
      role?: Role;
      /** `owner`: all rights; `support`: no money and no prices; `read_only`. */
      operator_role?: OperatorRole;
    };
    reply: MadeInvitation;
  };
  'GET /api/operator/accounts/:account_id/people': { reply: { data: Array<AccountPerson> } };
  'PATCH /api/operator/people/:person_id': {
    body: {
      name?: string;
      /** An e-mail address. */
      email?: string;
      /** The account in which the role changes. */
      account_id?: string;
      /** Their role in `account_id`. */
      role?: 'owner' | 'developer' | 'billing' | 'read_only';
      /** `owner`: all rights; `support`: no money and no prices; `read_only`. */
      operator_role?: OperatorRole;
    };
    reply: { person_id: string; name: string; email: string };
  };
  'DELETE /api/operator/people/:person_id': {
    query: {
      /** Removes them also if accounts then have no people at all. */
      leaves_accounts?: 'true';
    };
    reply: { person_id: string };
  };
  'POST /api/operator/people/:person_id/erase': {
    body: {
      /** For accounts that have no other people. `close`: their keys, files and names go, and the content of all their requests; `leave`: they stay as they are. */
      accounts?: 'close' | 'leave';
    };
    reply: {
      person_id: string;
      /** Accounts that were closed, with the money that is left in them. */
      closed: Array<{ account_id: string; available_usd_micro: string }>;
    };
  };
  'POST /api/operator/people/:person_id/sign-out': {
    reply: {
      /** Browsers that were signed in. */
      ended: number;
    };
  };
  'POST /api/operator/people/:person_id/reset-two-factors': { reply: { two_factor_enabled: boolean } };
  'GET /api/operator/requests': {
    query: {
      /** Only of this account. */
      account_id?: string;
      /** Only in this state. */
      status?: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
      /** Only failed with this code. */
      error_code?: 'upstream_rejected' | 'upstream_failed' | 'timeout' | 'output_too_large' | 'outcome_unknown' | 'output_unusable';
      /** The kind of output. */
      kind?: Kind;
      /** Only of this model. */
      model_id?: string;
      /** Only of this key. */
      key_id?: string;
      /** Only at this upstream. */
      upstream?: string;
      /** Only requests of the call with this number: `call_id`, that of a repeat, or `caller_id`. */
      call_id?: string;
      /** Submitted at this time or later. */
      from?: string;
      /** Submitted before this time. */
      to?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<AnyRequest>; next_cursor: string | null };
  };
  'GET /api/operator/requests/export': {
    query: {
      /** Only of this account. */
      account_id?: string;
      /** Only in this state. */
      status?: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
      /** Only failed with this code. */
      error_code?: 'upstream_rejected' | 'upstream_failed' | 'timeout' | 'output_too_large' | 'outcome_unknown' | 'output_unusable';
      /** The kind of output. */
      kind?: Kind;
      /** Only of this model. */
      model_id?: string;
      /** Only of this key. */
      key_id?: string;
      /** Only at this upstream. */
      upstream?: string;
      /** Only requests of the call with this number: `call_id`, that of a repeat, or `caller_id`. */
      call_id?: string;
      /** Submitted at this time or later. */
      from?: string;
      /** Submitted before this time. */
      to?: string;
    };
    reply: unknown;
  };
  'GET /api/operator/requests/:request_id': { reply: OperatorRequest };
  'GET /api/operator/requests/:request_id/input': { reply: { input: Record<string, unknown> | null } };
  'GET /api/operator/refusals': {
    query: {
      /** Only of this account. */
      account_id?: string;
      /** Only with this key. */
      key_id?: string;
      /** Only calls at this moment or later. */
      from?: string;
      /** Only calls before this moment. */
      to?: string;
      /** Only with this code. */
      code?: 'bad_request' | 'unknown_model' | 'unpriceable' | 'invalid_input' | 'bad_webhook_url' | 'bad_messages' | 'context_length_exceeded' | 'use_chat_completions' | 'unauthorized' | 'insufficient_balance' | 'key_limit_reached' | 'forbidden' | 'not_found' | 'method_not_allowed' | 'idempotency_conflict' | 'request_not_ready' | 'not_cancellable' | 'expired' | 'payload_too_large' | 'unsupported_media_type' | 'rate_limited';
      /** Only calls of this model. */
      model_id?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<AccountRefusal>; next_cursor: string | null };
  };
  'POST /api/operator/requests/:request_id/refunds': {
    body: {
      /** If left out: all that is left of the charge. */
      amount_usd_micro?: string | null;
      /** The name of the payment or correction outside Farebox. */
      reference: string;
      /** Shown in the statement. */
      reason: string;
    };
    reply: RefundBooking;
  };
  'POST /api/operator/requests/:request_id/cancel': {
    query: {
      /** True: also asks a running job to stop, if the model has `on_cancel`. */
      running?: boolean;
    };
    reply: {
      request_id: string;
      status: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
      cancel_requested_at?: string;
    };
  };
  'POST /api/operator/requests/:request_id/resolve': {
    body: {
      attempt?: number | null;
      outcome: 'ran' | 'did_not_run';
      /** Cost of each request, if it ran. */
      cost_usd_micro?: string | null;
      note?: string | null;
    };
    reply: {
      request_id: string;
      attempt: number | null;
      outcome: 'ran' | 'did_not_run';
      cost_usd_micro: string;
    };
  };
  'GET /api/operator/queue': {
    reply: {
      counted_max: number;
      upstreams: Array<QueueUpstream>;
      accounts: Array<{
        account_id: string;
        /** The address of its account. */
        email: string;
        account_name: string | null;
        waiting: number;
        oldest_seconds: number | null;
      }>;
      models: Array<{
        model_id: string;
        waiting: number;
        oldest_seconds: number | null;
      }>;
    };
  };
  'GET /api/operator/queue/requests': {
    query: {
      upstream?: string;
      status?: 'IN_QUEUE' | 'IN_PROGRESS';
      account_id?: string;
      older_seconds?: number;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<OpenRequest>; next_cursor: string | null };
  };
  'GET /api/operator/unknown': {
    query: {
      state?: 'open' | 'resolved' | 'all';
      upstream?: string;
      /** Entries of a page. */
      limit?: number;
      cursor?: string;
    };
    reply: {
      data: Array<UnknownOutcome>;
      next_cursor: string | null;
      waiting: Array<UnknownOutcome>;
      open: number;
      by_upstream: Array<UnknownOutcomes>;
    };
  };
  'POST /api/operator/unknown/resolve': {
    body: {
      upstream: string;
      since: string;
      outcome: 'ran' | 'did_not_run';
      /** Cost of each request, if it ran. */
      cost_usd_micro?: string | null;
      note?: string | null;
    };
    reply: { resolved: number; is_all: boolean };
  };
  'GET /api/operator/transfers': {
    query: {
      /** Only of this account. */
      account_id?: string;
      /** One or more of `deposit`, `adjustment`, `reserve`, `charge`, `release`, `debt` and `expiry`, with commas between. */
      kind?: string;
      /** Booked at this time or later. */
      from?: string;
      /** Booked before this time. */
      to?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<Transfer>; next_cursor: string | null };
  };
  'GET /api/operator/usage': {
    query: {
      /** One or more of `day`, `model`, `account` and `key`, with commas between. */
      by: string;
      /** The first day (UTC). Default: 30 days before `to`. */
      from?: string;
      /** The day after the last one. Default: tomorrow. */
      to?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<UsageSum>; next_cursor: string | null };
  };
  'GET /api/operator/events': {
    query: {
      /** Only of this type. */
      type?: 'deposit.credited' | 'deposit.held' | 'account.created' | 'balance.low' | 'upstream.paused' | 'upstream.credential' | 'chain.stopped' | 'books.broken' | 'books.sealed' | 'disk.low' | 'outcome.unknown';
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<OperatorEvent>; next_cursor: string | null };
  };
  'GET /api/operator/references': {
    query: {
      /** The name of the payment. */
      reference: string;
    };
    reply: {
      booked: {
        transfer_id: string;
        account_id: string;
        email: string | null;
        kind: 'deposit' | 'adjustment';
        source: SourceName | null;
        amount_usd_micro: string;
        reason: string | null;
        created_at: string;
      } | null;
    };
  };
  'GET /api/operator/vouchers': {
    query: {
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<Voucher>; next_cursor: string | null };
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
        /** Shown only here. */
        code: string;
      }>;
    };
  };
  'POST /api/operator/vouchers/:voucher_id/void': { reply: { status: 'void' } };
  'GET /api/operator/models': {
    reply: {
      problems: Array<CatalogProblem>;
      files: Array<{ file: string; rows: number; has_problem: boolean }>;
      data: Array<CatalogRow>;
    };
  };
  'GET /api/operator/models/*': { reply: CatalogRowDetail };
  'PATCH /api/operator/models/*': {
    body: {
      /** `stopped`: none of its requests start. */
      status?: 'live' | 'stopped';
      /** Why it is stopped, for customers. */
      status_note?: string | null;
      /** US dollars of a unit. If it depends on the resolution: by resolution, with `usd` for the others. For text: `input`, `output`, and if they differ `cached_input` and `cache_write`, of 1M tokens. `unit` may stand beside them. */
      price?: string | Record<string, number | string> | number | null;
      /** The routes of the row in the order in which they are tried; others are not used. Null: as in the file. */
      upstreams?: Array<{
        /** The name of the upstream. */
        name: string;
        /** If only one of several routes there is meant. */
        model?: string;
        /** Per cent of new requests that try it first; all add up to 100. Null: the order decides. */
        share?: number | null;
      }> | null;
      /** For the operator's log. */
      reason?: string | null;
    };
    reply: ModelSale;
  };
  'DELETE /api/operator/models/:model_id/override': {
    query: {
      /** For the operator's log. */
      reason?: string | null;
    };
    reply: ModelSale;
  };
  'GET /api/operator/models/:model_id/history': {
    query: {
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: {
      data: Array<ModelHistoryEntry>;
      next_cursor: string | null;
    };
  };
  'GET /api/operator/upstreams': { reply: { counted_max: number; data: Array<Upstream> } };
  'GET /api/operator/upstreams/:upstream': { reply: UpstreamDetail };
  'PATCH /api/operator/upstreams/:upstream': {
    body: {
      state: 'on' | 'draining' | 'off';
      /** For the operator's log. */
      reason?: string | null;
    };
    reply: {
      name: string;
      state: 'on' | 'draining' | 'off';
      open: { waiting: number; running: number };
    };
  };
  'PUT /api/operator/upstreams/:upstream/key': {
    body: {
      /** The key, or several with spaces between them. It is never shown again. */
      key: string | null;
      /** For the operator's log. */
      reason?: string | null;
    };
    reply: {
      name: string;
      /** A key that an operator has set. It is used in place of the variable. */
      stored_key: StoredKey | null;
    };
  };
  'POST /api/operator/upstreams/:upstream/resume': {
    body: { model?: string | null };
    reply: { was_paused: boolean };
  };
  'POST /api/operator/upstreams/:upstream/test': { reply: UpstreamCheck };
  'GET /api/operator/chains': { reply: { data: Array<OperatorChain> } };
  'GET /api/operator/chains/sums': { reply: { data: Array<ChainSums> } };
  'POST /api/operator/chains/:chain/resume': {
    body: {
      /** The first block that is read again. */
      from_height?: number;
    };
    reply: { chain: string; stopped_why: string | null };
  };
  'POST /api/operator/chains/:chain/rescan': {
    body: {
      /** The first block that is read again. */
      from_height: number;
      /** The last block; by default the newest that was read. */
      to_height?: number;
    };
    reply: { chain: string; from: number; to: number };
  };
  'GET /api/operator/deposits': {
    query: {
      state?: 'held' | 'credited' | 'ignored';
      /** Why it is not credited. */
      why?: OperatorDepositWhy;
      chain?: string;
      account_id?: string;
      /** With or without 0x. */
      tx_hash?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<OperatorDeposit>; next_cursor: string | null };
  };
  'POST /api/operator/deposits/:deposit_id/credit': {
    body: {
      /** The e-mail address or id of the account; needed unless the deposit has an `account_id` and its `why` is `review` or `dust`. */
      account?: string;
      /** Credits it even if another booking names its hash. */
      allows_booked?: boolean;
      /** For the operator's log. */
      reason?: string;
    };
    reply: DecidedDeposit;
  };
  'POST /api/operator/deposits/:deposit_id/ignore': {
    body: {
      /** For the operator's log. */
      reason: string;
    };
    reply: DecidedDeposit;
  };
  'GET /api/operator/invitations': {
    reply: {
      sign_up: 'open' | 'invite' | 'closed';
      data: Array<SignUpInvitation>;
    };
  };
  'POST /api/operator/invitations': {
    body: {
      /** An e-mail address. */
      email: string;
    };
    reply: MadeInvitation;
  };
  'DELETE /api/operator/invitations/:invitation_id': { reply: { withdrawn: boolean } };
  'GET /api/operator/operator-keys': {
    query: {
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: { data: Array<OperatorKey>; next_cursor: string | null };
  };
  'GET /api/operator/banner': {
    reply: {
      /** Plain text above all pages. */
      banner: Banner | null;
    };
  };
  'PUT /api/operator/banner': {
    body: {
      /** In English. */
      en?: string | null;
      /** In Russian. */
      ru?: string | null;
    };
    reply: {
      /** Plain text above all pages. */
      banner: Banner | null;
    };
  };
  'GET /api/operator/settings': { reply: { data: Array<OperatorSetting> } };
  'GET /api/operator/log': {
    query: {
      /** Only about this account. */
      account_id?: string;
      /** Only by this author, as `by_email` names it. */
      by?: string;
      /** Only of this kind. */
      action?: string;
      /** Entries of a page. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: {
      data: Array<LogEntry>;
      next_cursor: string | null;
      /** Everyone who is in the log. */
      authors: Array<string>;
    };
  };
  'PUT /api/operator/accounts/:account_id/operator': {
    body: { is_operator: boolean };
    reply: { is_operator: boolean };
  };
  'POST /api/operator/people/:person_id/reset-link': {
    reply: {
      /** Shown only here. */
      link: string;
    };
  };
  'POST /api/operator/operator-keys': {
    body: { name: string; scopes: Array<Scope> };
    reply: {
      /** The secret. */
      key: string;
      operator_key_id: string;
    };
  };
  'DELETE /api/operator/operator-keys/:operator_key_id': { reply: { operator_key_id: string } };
}

export type WebSettings = {
  base_url: string;
  sign_up: 'open' | 'invite' | 'closed';
  has_mail: boolean;
  /** The label of the identity provider's button; null if there is no identity provider. */
  oidc_name: string | null;
  password_min: number;
  /** Plain text above all pages. */
  banner: Banner | null;
};

/** Plain text above all pages. */
export type Banner = {
  /** Null: the Russian text is shown there, too. */
  en: string | null;
  /** Null: the English text is shown there, too. */
  ru: string | null;
  changed_at: string;
};

export type Invitation = {
  email: string;
  role: Role;
  /** Null: the person gets a new account. */
  account_name: string | null;
  expires_at: string;
};

export type Role = 'owner' | 'developer' | 'billing' | 'read_only';

export type Me = {
  person_id: string;
  session_id: string;
  email: string;
  name: string;
  email_verified: boolean;
  two_factor_enabled: boolean;
  is_operator: boolean;
  /** Their role on the console; null: none. */
  operator: {
    /** `owner`: all rights; `support`: no money and no prices; `read_only`. */
    role: OperatorRole;
    rights: Array<'read' | 'accounts' | 'keys' | 'money' | 'catalog' | 'own'>;
  } | null;
  accounts: Array<Account>;
};

/** `owner`: all rights; `support`: no money and no prices; `read_only`. */
export type OperatorRole = 'owner' | 'support' | 'read_only';

export type Account = {
  account_id: string;
  name: string;
  role: Role;
  status: 'active' | 'suspended';
  /** Its owners run the service. */
  is_operator: boolean;
};

export type Security = {
  has_password: boolean;
  has_oidc: boolean;
  sessions: Array<Session>;
};

export type Session = {
  session_id: string;
  /** True for the session of this call. */
  is_this: boolean;
  ip_address: string | null;
  user_agent: string | null;
  created_at: string;
  expires_at: string;
};

export type Funds = {
  /** The amount that the account may spend. */
  available_usd_micro: string;
  /** Reserved for open requests. */
  reserved_usd_micro: string;
  /** Paid first by the next top-up. */
  debt_usd_micro: string;
};

export type Team = {
  is_operator: boolean;
  members: Array<Member>;
  invitations: Array<Invitee>;
  /** Further lines about the account on its receipts. */
  billed_to: string | null;
};

export type Member = {
  person_id: string;
  name: string;
  email: string;
  role: Role;
  is_me: boolean;
  /** Shown to owners only. */
  two_factor_enabled?: boolean;
  joined_at: string;
};

export type Invitee = {
  invitation_id: string;
  email: string;
  role: Role;
  expires_at: string;
};

export type NewInvitation = {
  invitation_id: string;
  email: string;
  role: Role;
  url: string;
  mailed: boolean;
};

/** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
export type Status = Wire<client.StatusName>;

export type RequestPage = {
  data: Array<RequestEntry>;
  next_cursor: string | null;
  /** The `cursor` of the page with newer requests. */
  previous_cursor: string | null;
  /** Time of the last request searched, if the search ended before the page was full. */
  looked_to: string | null;
};

export type RequestEntry = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  /** Reserved at submit. */
  quoted_usd_micro: string;
  /** Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until it is final. */
  charged_usd_micro: string | null;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When it became final. */
  completed_at: string | null;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at: string | null;
  /** The key that submitted it. */
  key_id: string;
  /** The caller's own pairs of texts; empty if none were given. */
  metadata: Record<string, string>;
  /** The `x-request-id` of the reply to the submit; null if the request is older than this field. */
  call_id: string | null;
  /** The submit's own `x-request-id`, or the trace id of its `traceparent`; null if it had none. */
  caller_id: string | null;
  /** The person who was signed in; null: a program with a key. */
  person_id: string | null;
  /** From 0 to 1. */
  progress: number | null;
  error_code: string | null;
  webhook_state: WebhookState | null;
  /** The input in one line, at most 500 characters: its prompt, or else its short values. Null for a chat, and once the input is deleted. */
  prompt: string | null;
  /** Whether it is marked in the library of the web pages. */
  favorite: boolean;
  /** The reason why it `FAILED`; else null. */
  error: {
    /** The reason why an accepted request ended `FAILED`. Nothing was charged. */
    code: FailureCode;
    /** For people. */
    message: string;
    details?: {
      /** A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`. */
      reason: string;
      [field: string]: unknown;
    };
  } | null;
  /** The first 12 outputs that are still kept. */
  outputs: Array<LineOutput>;
  /** Number of outputs that it made, kept or not. */
  output_count: number;
  /** When the outputs are deleted; null if none are kept. */
  expires_at: string | null;
};

/** The kind of output. */
export type Kind = Wire<client.Kind>;

export type WebhookState = 'pending' | 'delivered' | 'failed';

/** The reason why an accepted request ended `FAILED`. Nothing was charged. */
export type FailureCode = Wire<client.FailureCode>;

export type LineOutput = Wire<client.LineOutput>;

export type KeyName = {
  key_id: string;
  name: string;
  last4: string;
  revoked: boolean;
};

export type PersonName = { person_id: string; name: string; email: string };

export type RequestDetail = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  /** Reserved at submit. */
  quoted_usd_micro: string;
  /** Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until it is final. */
  charged_usd_micro: string | null;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When it became final. */
  completed_at: string | null;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at: string | null;
  /** The key that submitted it. */
  key_id: string;
  /** The caller's own pairs of texts; empty if none were given. */
  metadata: Record<string, string>;
  /** The `x-request-id` of the reply to the submit; null if the request is older than this field. */
  call_id: string | null;
  /** The submit's own `x-request-id`, or the trace id of its `traceparent`; null if it had none. */
  caller_id: string | null;
  /** The part of the charge that was given back. */
  refunded_usd_micro: string;
  /** From 0 to 1. */
  progress: number | null;
  error: {
    /** The reason why an accepted request ended `FAILED`. Nothing was charged. */
    code: FailureCode;
    /** For people. */
    message: string;
    details?: {
      /** A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`. */
      reason: string;
      [field: string]: unknown;
    };
  } | null;
  quote: {
    unit: string;
    unit_price_usd_micro: string;
    quantity: number;
    /** How the price is made up; the amounts add up to it. */
    breakdown: Array<QuoteLine>;
    assumptions: Record<string, unknown>;
  };
  delivered_quantity: number | null;
  expires_at: string | null;
  /** When the input and the output were deleted. */
  cleared_at: string | null;
  webhook: {
    /** For the operator only its origin: path and query may be a password. */
    url: string;
    state: WebhookState | null;
  } | null;
  deliveries: Array<{
    cause: string;
    at: string;
    status: number | null;
    error: string | null;
    duration_ms: number;
  }>;
  logs: Array<string>;
  queue_position: number | null;
  input: Record<string, unknown>;
  attempts: Array<{ at: string; outcome: string | null }>;
  output: Record<string, unknown> | null;
  outputs: Array<RequestOutput>;
};

export type QuoteLine = Wire<client.QuoteLine>;

export type RequestOutput = {
  index: number;
  field: string;
  content_type: string;
  size: number;
  width: number | null;
  height: number | null;
  duration_seconds: number | null;
  file_name: string;
  /** Null: its bytes have been deleted. */
  url: string | null;
};

export type LibraryPage = {
  data: Array<RequestEntry>;
  next_cursor: string | null;
  /** Time of the last request searched, if the search ended before the page was full. */
  looked_to: string | null;
};

export type Key = {
  /** Its id, which never changes. */
  key_id: string;
  /** Your name for it. */
  name: string;
  /** First and last characters of its secret. */
  hint: string;
  /** Last characters of its secret. */
  last4: string;
  /** True: people spend with it in the studio, and nobody has its secret. */
  is_studio: boolean;
  /** spend: it runs models. keys: it manages the keys of scope spend, and nothing else. */
  scope: 'spend' | 'keys';
  /** Only an active key works. */
  state: 'active' | 'expired' | 'revoked';
  /** The most that it may charge and reserve in a month (UTC). Null: unlimited. */
  monthly_limit_usd_micro: string | null;
  /** When it stops working. Null: never. */
  expires_at: string | null;
  /** The only models that it may use. Null: all. */
  models: Array<string> | null;
  /** Calls a minute. Null: the service's usual limit. */
  rpm: number | null;
  /** Open jobs at once. Null: the service's usual limit. */
  open_jobs: number | null;
  monthly_ceiling_usd_micro: string | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
  /** In this month (UTC), reservations included. */
  spent_usd_micro: string;
  /** Held by its open requests. */
  reserved_usd_micro: string;
  /** When the next month begins. */
  resets_at: string;
  /** Its open jobs now. */
  open_requests: number;
  /** When it was made. */
  created_at: string;
  /** Name of the key that made it; null: no key did. */
  created_by_name: string | null;
  /** When it was revoked. */
  revoked_at: string | null;
  /** The time until which the previous secret (replaced at the last rotation) works. */
  previous_until: string | null;
  /** Its newest call. */
  last_used_at: string | null;
  /** When the previous secret (replaced at the last rotation) was last used. */
  previous_used_at: string | null;
};

/** The operator's limits; people may set lower ones. Null: unlimited. */
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

export type NewKey = Key & {
  /** The secret, shown only here. */
  key: string;
};

export type Overview = {
  /** The amount that the account may spend. */
  available_usd_micro: string;
  /** Reserved for open requests. */
  reserved_usd_micro: string;
  /** Paid first by the next top-up. */
  debt_usd_micro: string;
  month: {
    spent_usd_micro: string;
    resets_at: string | null;
    keys_total: number;
    keys: Array<KeyMonth>;
  };
  running: { total: number; data: Array<RunningRequest> };
  steps: {
    topped_up: boolean;
    has_key: boolean;
    has_request: boolean;
  };
  /** Counts of the last day. */
  refused: Array<RefusedCalls>;
  /** Webhooks that failed in the last day; 100 at most. */
  failed_webhooks: number;
  /** Jobs of one hour, as of the newest alert of the last day; null: none, or it is off. */
  failing_jobs: { ended: number; failed: number } | null;
};

export type KeyMonth = {
  key_id: string;
  name: string;
  is_studio: boolean;
  revoked: boolean;
  monthly_limit_usd_micro: string | null;
  /** Reservations included. */
  spent_usd_micro: string;
};

export type RunningRequest = {
  request_id: string;
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  quoted_usd_micro: string;
  created_at: string;
  started_at: string | null;
};

export type Spend = {
  days: Array<string>;
  data: Array<SpendDay>;
  /** One for each day, in the order of `days`. */
  before: Array<string>;
};

export type SpendDay = {
  day: string;
  /** The kind of output. */
  kind: Kind;
  /** Null: all other models, on which less was spent. */
  model_id: string | null;
  charged_usd_micro: string;
  requests: number;
};

export type Movement = {
  transfer_id: string;
  seq: number;
  kind: MovementKind;
  direction: 'in' | 'out';
  amount_usd_micro: string;
  /** Change of the available balance. */
  change_usd_micro: string;
  /** For a charge or release: the amount that was reserved. */
  reserved_usd_micro: string | null;
  available_after_usd_micro: string;
  request_id: string | null;
  model_id: string | null;
  source: SourceName | null;
  reference: string | null;
  reason: string | null;
  /** Whether `/receipts/{transfer_id}` exists. */
  has_receipt: boolean;
  /** The receipt's number, once it was issued. An export issues the receipts of all its rows. */
  receipt: string | null;
  transaction: ChainTransaction | null;
  created_at: string;
};

export type MovementKind = 'deposit' | 'adjustment' | 'reserve' | 'charge' | 'release' | 'debt' | 'expiry';

export type SourceName = 'paid' | 'chain' | 'voucher' | 'bonus' | 'refund';

export type ChainTransaction = {
  /** Chain and token, such as `BNB Chain (BEP20), USDT`. */
  network: string;
  /** As the explorer writes it: without 0x on TRON. */
  tx_hash: string;
  /** A page that shows the transaction. */
  explorer_url: string | null;
};

/** A top-up, a correction, or a request with its cost. */
export type StatementLine = {
  id: string;
  seq: number;
  kind: MovementKind;
  /** The change of the balance. */
  effect_usd_micro: string;
  /** Reserved amounts included. */
  balance_usd_micro: string;
  /** The amount reserved for an open request. */
  held_usd_micro: string | null;
  request_id: string | null;
  model_id: string | null;
  model_name: string | null;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status | null;
  /** The unit of the price. `MP` is a megapixel. */
  unit: Unit | null;
  /** The delivered quantity, or the requested one while the delivered one is not known. */
  quantity: number | null;
  source: SourceName | null;
  reference: string | null;
  reason: string | null;
  /** Whether `/receipts/{id}` exists. */
  has_receipt: boolean;
  transaction: ChainTransaction | null;
  created_at: string;
};

/** The unit of the price. `MP` is a megapixel. */
export type Unit = Wire<client.Unit>;

export type StatementTotals = {
  movements: number;
  in_usd_micro: string;
  out_usd_micro: string;
  net_usd_micro: string;
  charged_usd_micro: string;
  /** The deposits. */
  by_source: Array<SourceSum>;
};

export type SourceSum = { source: SourceName; amount_usd_micro: string };

export type Receipt = {
  /** Its number, such as `R-000123`. */
  number: string;
  transfer_id: string;
  /** When it was first requested. Its texts have not changed since. */
  issued_at: string;
  /** When the deposit was booked. */
  paid_at: string;
  /** The operator, in lines; the name is the first. */
  seller: string;
  /** The account, in lines; the name is the first. */
  buyer: string;
  amount_usd_micro: string;
  source: SourceName;
  reference: string | null;
  transaction: ChainTransaction | null;
};

export type AlertSettings = {
  /** Null if this alert is off. */
  low_balance_usd_micro: string | null;
  emails: boolean;
  webhook_url: string | null;
  notified_at: string | null;
  /** A key has used 80 % of its monthly limit, or all of it. */
  key_limits: boolean;
  /** The newest 5 webhooks all failed within an hour. */
  failing_webhooks: boolean;
  /** At least 10 jobs ended within an hour, and more than half failed. */
  failing_jobs: boolean;
  has_mail: boolean;
  recipients: Array<string>;
};

export type WebhookSecrets = { secrets: Array<string> };

export type SendResult = {
  delivered: boolean;
  /** Null: no answer came. */
  status: number | null;
  error: string | null;
  /** The network error that caused it. */
  fault: string | null;
  duration_ms: number;
};

export type Delivery = {
  delivery_id: string;
  request_id: string | null;
  cause: 'final' | 'resend' | 'test' | 'low_balance';
  url: string;
  /** Null: no answer came. */
  status: number | null;
  error: string | null;
  /** The network error that caused it. */
  fault: string | null;
  duration_ms: number;
  created_at: string;
};

export type Balance = Wire<client.Balance>;

export type DepositAddressList = Wire<client.DepositAddressList>;

export type DepositList = Wire<client.DepositList>;

export type EstimateRequest = {
  /** An id of the catalog. */
  model_id: string;
  /** The full input, as it will be submitted; null fields count as missing. For a text model: the body of the chat call, or `input_tokens` and `output_tokens` as whole numbers from 0. */
  input?: Record<string, unknown>;
};

export type Estimate = Wire<client.Estimate>;

/** Fields that are not listed here are left out. `top_k` and the fields after it go only to models that take them. `x-ignored-fields` names the fields that were left out. */
export type ChatRequest = Wire<client.ChatInput>;

export type ChatCompletion = Wire<client.Completion>;

/** The model's own input: `input_schema` in the catalog says what is allowed. The fields listed here are the usual ones. */
export type ModelInput = {
  /** A description of the wanted output. */
  prompt?: string;
  /** A `file_id`, a public http(s) address, or a `data:` address. */
  image_url?: string;
  /** As `image_url`. */
  video_url?: string;
  /** As `image_url`. */
  audio_url?: string;
  /** If missing, 5 seconds are reserved. */
  duration_seconds?: number;
  /** One of the model's `resolutions`. If missing, the highest price is reserved. */
  resolution?: string;
  /** For example `16:9`. */
  aspect_ratio?: string;
  /** True: a video gets audio. */
  generate_audio?: boolean;
  /** If missing: 1. */
  num_images?: number;
  /** Same as the query parameter; if both are given, they must be equal. Not sent to the model. */
  webhook_url?: string;
  [field: string]: unknown;
};

export type QueuedRequest = Wire<client.QueuedRequest>;

export type RequestList = Wire<client.RequestList>;

export type RequestCard = Wire<client.RequestCard>;

export type RequestStatus = Wire<client.Status>;

/** The model's output. Its fields depend on the model. */
export type ModelOutput = Wire<client.Output>;

export type Cancelled = Wire<client.Cancelled>;

export type DeletedOutput = Wire<client.DeletedOutput>;

export type UsageLine = Wire<client.UsageLine>;

export type Refusal = Wire<client.Refusal>;

export type UploadedFile = Wire<client.UploadedFile>;

export type Allowance = {
  available_usd_micro: string;
  reserved_usd_micro: string;
  /** The studio key's monthly limit. */
  limit_usd_micro: string | null;
  spent_usd_micro: string;
  resets_at: string | null;
  open_jobs: number;
  open_jobs_limit: number;
  upload_max_bytes: number;
};

export type Model = Wire<client.Model>;

/** A rule that adds to the price: for each item of a list, or if a field has a certain value. */
export type ModelExtra = Wire<client.ModelExtra>;

export type Resolution = Wire<client.Resolution>;

export type ChatPrice = {
  /** The requested model. */
  model_id: string;
  /** Reserved by a submit of this input; the charge is never higher. */
  price_usd_micro: string;
  /** The unit of the price. `MP` is a megapixel. */
  unit: Unit;
  /** Price of one unit, extras included; for text the higher rate. */
  unit_price_usd_micro: string;
  /** How many units. */
  quantity: number;
  /** The share of the list price that this account pays; missing if it is 1. The rates of the estimate include it already. */
  price_multiplier?: number;
  /** How the price is made up; the amounts add up to it. */
  breakdown: Array<QuoteLine>;
  /** Values assumed for missing fields, by field: the most expensive `resolution`, 5 `duration_seconds`, 1 `num_images`. */
  assumptions: Record<string, unknown>;
  /** Present if `resolution` is missing and decides the price: the price of a unit for each resolution. */
  unit_price_by_resolution_usd_micro?: Record<string, string>;
  /** Present if cached prompt tokens have prices of their own: the prices of a million prompt tokens. The highest is reserved; the charge follows what the model reports. */
  input_prices_usd_micro?: {
    /** Tokens that are not in the cache. */
    input: string;
    /** Tokens read from the cache. */
    cached_input: string;
    /** Tokens written to the cache. */
    cache_write: string;
  };
  max_tokens: number;
};

export type Revenue = {
  days: number;
  totals: RevenueSum;
  /** Named 2027-01-31; with `days=1` by hours: 2027-01-31T14:00:00.000Z. */
  by_day: Array<RevenueDay>;
  /** The same time before, named as in `by_day`. */
  before: Array<RevenueSum>;
  by_kind: Array<RevenueSum>;
  by_model: Array<RevenueSum>;
  by_upstream: Array<RevenueSum>;
  top_accounts: Array<TopAccount>;
  /** Money that came in, by its source. */
  deposits: Array<SourceSum>;
  available_usd_micro: string;
  reserved_usd_micro: string;
  /** Debts of customers. */
  debt_usd_micro: string;
  /** The worth of open vouchers. */
  vouchers_usd_micro: string;
  accounts: number;
  books: AuditResult | null;
};

export type RevenueSum = {
  name: string;
  completed: number;
  failed: number;
  /** Charges less refunds. */
  charged_usd_micro: string;
  cost_usd_micro: string;
  margin_usd_micro: string;
  /** Number of requests that ran, or may have run, at an unknown cost. */
  uncosted: number;
};

export type RevenueDay = RevenueSum & { new_accounts: number };

export type TopAccount = RevenueSum & { account_id: string; email: string };

export type AuditResult = {
  ok: boolean;
  /** Number of checked laws, and of checked rows of each kind. */
  checked: Record<string, number>;
  violations: Array<{
    law: string;
    says: string;
    found: Array<Record<string, unknown>>;
  }>;
  took_ms: number;
  proved_at: string;
  /** More was new than one audit proves; the next one follows soon. */
  is_behind: boolean;
  /** All history was proved since then; null: not yet. */
  whole_at: string | null;
};

export type AttentionLine = {
  /** A kind of problem. */
  what: 'restored_copy' | 'books_broken' | 'books_old' | 'disk_low' | 'storage_away' | 'clock_skew' | 'credential_refused' | 'credit_used_up' | 'upstream_paused' | 'model_paused' | 'jobs_stranded' | 'queue_old' | 'xpub_differs' | 'chain_stopped' | 'chain_refused' | 'chain_behind' | 'chain_rescan_late' | 'deposits_held' | 'chain_single_endpoint' | 'models_stopped' | 'costs_exceed_charges' | 'unknown_outcomes' | 'events_unsent' | 'catalog_problems' | 'rows_left_out' | 'sold_below_cost';
  count: number;
  /** The first ones that have this problem. */
  of: Array<string>;
  /** When the oldest of them began. */
  since?: string;
};

export type FoundAccount = {
  account_id: string;
  email: string;
  name: string | null;
  status: 'active' | 'suspended';
  /** Its owners run the service. */
  is_operator: boolean;
  /** The factor, in millionths, by which every list price is multiplied for it. */
  price_ppm: number;
  /** True: keys of the scope `keys` work in this account, and its people may make them. */
  keys_by_api: boolean;
  available_usd_micro: string;
  reserved_usd_micro: string;
  /** The next deposit pays it first. */
  debt_usd_micro: string;
  /** Charged and reserved this month (UTC). */
  month_usd_micro: string;
  created_at: string;
  /** Where the searched text was found; empty if no text was searched. */
  matched: Array<{
    by: 'account' | 'person' | 'key' | 'request' | 'payment' | 'voucher';
    /** The person, key, request or voucher that matched. Null: an account or a payment. */
    said: string | null;
  }>;
};

export type MadeAccount = {
  account_id: string;
  email: string;
  /** Works once, for 7 days. Null: no invitation was asked for. */
  invitation_link: string | null;
};

export type OperatorAccount = {
  account_id: string;
  email: string;
  name: string | null;
  status: 'active' | 'suspended';
  /** Its owners run the service. */
  is_operator: boolean;
  /** The factor, in millionths, by which every list price is multiplied for it. */
  price_ppm: number;
  /** True: keys of the scope `keys` work in this account, and its people may make them. */
  keys_by_api: boolean;
  available_usd_micro: string;
  reserved_usd_micro: string;
  /** The next deposit pays it first. */
  debt_usd_micro: string;
  /** Charged and reserved this month (UTC). */
  month_usd_micro: string;
  created_at: string;
  people: Array<AccountPerson>;
  /** The operator's limits; people may set lower ones. Null: unlimited. */
  key_ceilings: KeyCeilings;
  /** All its deposits, by their source. */
  deposits: Array<SourceSum>;
  /** Open invitations. */
  invitations: Array<{
    invitation_id: string;
    email: string;
    role: Role;
    /** `owner`: all rights; `support`: no money and no prices; `read_only`. */
    operator_role: OperatorRole | null;
    expires_at: string;
  }>;
  /** The newest 100, revoked ones too. */
  keys: Array<AccountKey>;
};

export type AccountPerson = {
  person_id: string;
  name: string;
  email: string;
  email_verified: boolean;
  two_factor_enabled: boolean;
  role: Role;
  /** `owner`: all rights; `support`: no money and no prices; `read_only`. */
  operator_role: OperatorRole | null;
  seen_at: string | null;
};

export type AccountKey = {
  /** Its id, which never changes. */
  key_id: string;
  /** Your name for it. */
  name: string;
  /** First characters of its secret. */
  prefix: string;
  /** Last characters of its secret. */
  last4: string;
  /** spend: it runs models. keys: it manages the keys of scope spend, and nothing else. */
  scope: 'spend' | 'keys';
  /** Only an active key works. */
  state: 'active' | 'expired' | 'revoked';
  /** The most that it may charge and reserve in a month (UTC). Null: unlimited. */
  monthly_limit_usd_micro: string | null;
  /** When it stops working. Null: never. */
  expires_at: string | null;
  /** The only models that it may use. Null: all. */
  models: Array<string> | null;
  /** Calls a minute. Null: the service's usual limit. */
  rpm: number | null;
  /** Open jobs at once. Null: the service's usual limit. */
  open_jobs: number | null;
  /** Charged and reserved this month (UTC). */
  month_usd_micro: string;
  /** Its open jobs now. */
  open_requests: number;
  /** When it was made. */
  created_at: string;
  /** The key of scope keys that made it. Null: a person or the operator did. */
  created_by: string | null;
  /** Name of the key that made it; null: no key did. */
  created_by_name: string | null;
  /** When it was revoked. */
  revoked_at: string | null;
};

export type Booking = {
  transfer_id: string;
  /** True if the same booking was already made with this reference. */
  replayed: boolean;
  /** The account's balance now. */
  available_usd_micro: string;
  /** Reserved for its open requests. */
  reserved_usd_micro: string;
  /** The debt that is left. */
  debt_usd_micro: string;
};

export type AccountStatus = { status: 'active' | 'suspended' };

export type AccountMovement = {
  transfer_id: string;
  kind: MovementKind;
  amount_usd_micro: string;
  /** Change of the available balance; for a charge, the part of the reservation that is given back. */
  change_usd_micro: string;
  available_after_usd_micro: string;
  request_id: string | null;
  model_id: string | null;
  source: SourceName | null;
  reference: string | null;
  reason: string | null;
  has_receipt: boolean;
  transaction: ChainTransaction | null;
  created_at: string;
};

export type AccountKeyList = { data: Array<AccountKey>; next_cursor: string | null };

export type NewAccountKey = AccountKey & {
  /** The secret, shown only here. */
  key: string;
};

export type MadeInvitation = {
  invitation_id: string;
  email: string;
  /** Shown only here. */
  link: string;
};

export type AnyRequest = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  upstream: string;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  /** Reserved at submit. */
  quoted_usd_micro: string;
  /** Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until it is final. */
  charged_usd_micro: string | null;
  /** The part of the charge that was given back. */
  refunded_usd_micro: string;
  /** Null: not known. */
  cost_usd_micro: string | null;
  margin_usd_micro: string | null;
  error_code: string | null;
  /** When it was submitted. */
  created_at: string;
  /** When it became final. */
  completed_at: string | null;
  /** The `x-request-id` of the reply to the submit; null if the request is older than this field. */
  call_id: string | null;
  /** The submit's own `x-request-id`, or the trace id of its `traceparent`; null if it had none. */
  caller_id: string | null;
  account_id: string;
  /** The address of its account. */
  email: string;
  account_name: string | null;
  /** The key that submitted it. */
  key_id: string;
};

export type OperatorRequest = AnyRequest & {
  /** From 0 to 1. */
  progress: number | null;
  error: {
    /** The reason why an accepted request ended `FAILED`. Nothing was charged. */
    code: FailureCode;
    /** For people. */
    message: string;
    details?: {
      /** A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`. */
      reason: string;
      [field: string]: unknown;
    };
  } | null;
  quote: {
    unit: string;
    unit_price_usd_micro: string;
    quantity: number;
    /** How the price is made up; the amounts add up to it. */
    breakdown: Array<QuoteLine>;
    assumptions: Record<string, unknown>;
  };
  delivered_quantity: number | null;
  expires_at: string | null;
  /** When the input and the output were deleted. */
  cleared_at: string | null;
  webhook: {
    /** For the operator only its origin: path and query may be a password. */
    url: string;
    state: WebhookState | null;
  } | null;
  deliveries: Array<{
    cause: string;
    at: string;
    status: number | null;
    error: string | null;
    duration_ms: number;
  }>;
  key: { name: string; prefix: string; last4: string };
  upstream_model: string | null;
  tokens: {
    input_tokens: number;
    output_tokens: number;
    /** The part of `input_tokens` that was read from a cache. */
    cached_tokens: number;
    /** The part of `output_tokens` that was reasoning. */
    reasoning_tokens: number;
  } | null;
  /** Null if the caller saw the same message. */
  error_cause: string | null;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at: string | null;
  deadline_at: string | null;
  outputs_made: number;
  attempts: Array<UpstreamAttempt>;
};

export type UpstreamAttempt = {
  at: string;
  outcome: string | null;
  attempt: number;
  upstream: string;
  /** The key with which the upstream was called, if the upstream has several. */
  key: string | null;
  class: string;
  handle: string | null;
  message: string | null;
  answered_at: string | null;
  left_at: string | null;
  cost_usd_micro: string | null;
};

export type AccountRefusal = Refusal & { account_id: string; account_email: string | null };

export type RefundBooking = {
  transfer_id: string;
  /** True if the same booking was already made with this reference. */
  replayed: boolean;
  /** The account's balance now. */
  available_usd_micro: string;
  /** Reserved for its open requests. */
  reserved_usd_micro: string;
  /** The debt that is left. */
  debt_usd_micro: string;
  request_id: string;
  /** All refunds of the request together. */
  refunded_usd_micro: string;
};

export type QueueUpstream = {
  upstream: string;
  waiting: number;
  /** True if more are waiting than are counted. */
  waiting_more: boolean;
  oldest_seconds: number | null;
  in_use: number;
  concurrency: number | null;
  running: number;
  longest_seconds: number | null;
  paused_until: string | null;
};

export type OpenRequest = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  /** Reserved at submit. */
  quoted_usd_micro: string;
  /** Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until it is final. */
  charged_usd_micro: string | null;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When it became final. */
  completed_at: string | null;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at: string | null;
  account_id: string;
  /** The address of its account. */
  email: string;
  account_name: string | null;
  upstream: string;
  deadline_at: string | null;
  /** From 0 to 1. */
  progress: number | null;
  message: string | null;
  waits_for: { what: string; until: string | null };
};

export type UnknownOutcome = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  /** Reserved at submit. */
  quoted_usd_micro: string;
  /** Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until it is final. */
  charged_usd_micro: string | null;
  /** When it was submitted. */
  created_at: string;
  started_at: string;
  /** When it became final. */
  completed_at: string | null;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at: string | null;
  account_id: string;
  /** The address of its account. */
  email: string;
  account_name: string | null;
  /** The upstream where it may have run. */
  upstream: string;
  error_code: string | null;
  cost_usd_micro: string | null;
  error_message: string | null;
  attempt: number | null;
  class: string | null;
  handle: string | null;
  message: string | null;
  attempted_at: string | null;
  deadline_at: string | null;
  /** When this start was given up and the next route was tried; null if it was not. */
  left_at: string | null;
  resolution: {
    outcome: 'ran' | 'did_not_run';
    note: string | null;
    by_email: string;
    resolved_at: string;
  } | null;
};

/** The unresolved outcomes of one upstream. */
export type UnknownOutcomes = { upstream: string; count: number; oldest_at: string };

export type Transfer = {
  transfer_id: string;
  account_id: string;
  kind: MovementKind;
  /** `in`: more is available afterwards. */
  direction: 'in' | 'out';
  amount_usd_micro: string;
  available_after_usd_micro: string;
  /** For a reserve, a charge, a release and a refund. */
  request_id: string | null;
  source: SourceName | null;
  /** For a deposit and an adjustment. */
  reference: string | null;
  /** For an adjustment. */
  reason: string | null;
  created_at: string;
};

export type UsageSum = {
  /** The day (UTC) on which the requests ended; null if not by day. */
  day: string | null;
  model_id: string | null;
  account_id: string | null;
  key_id: string | null;
  completed: number;
  /** `FAILED`; cancelled requests are not counted. */
  failed: number;
  /** Paid by the accounts, less the refunds booked in these days. */
  charged_usd_micro: string;
  /** Paid to upstreams, as far as it is known. */
  cost_usd_micro: string;
};

export type OperatorEvent = {
  /** The `webhook-id` of every delivery. */
  event_id: string;
  type: 'deposit.credited' | 'deposit.held' | 'account.created' | 'balance.low' | 'upstream.paused' | 'upstream.credential' | 'chain.stopped' | 'books.broken' | 'books.sealed' | 'disk.low' | 'outcome.unknown';
  /** Null: it concerns the installation. */
  account_id: string | null;
  created_at: string;
  /** Facts, by type. */
  data: Record<string, unknown>;
  /** `given_up`: no delivery was accepted for 3 days. `not_sent`: there was no webhook. */
  state: 'waiting' | 'sent' | 'given_up' | 'not_sent';
  /** When the receiver accepted it. */
  sent_at: string | null;
  /** When it is sent next. */
  wake_at: string | null;
  /** Deliveries in succession that failed. */
  failures: number;
  /** The status of the newest reply. */
  last_status: number | null;
  /** Why the newest delivery failed. */
  last_error: string | null;
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

export type CatalogProblem = {
  file: string;
  path: string;
  message: string;
  line: number | null;
};

export type CatalogRow = {
  id: string;
  /** Null, like `kind`, `task` and `unit`, if the row was never valid. */
  name: string | null;
  /** The kind of output. */
  kind: Kind | null;
  task: string | null;
  /** The unit of the price. `MP` is a megapixel. */
  unit: Unit | null;
  uncensored: boolean;
  file: string;
  line: number | null;
  state: 'live' | 'stopped' | 'hidden' | 'left_out';
  /** Why it is hidden. */
  reason: string | null;
  stopped: {
    since: string;
    by: string;
    /** The operator's words to customers. */
    status_note: string | null;
  } | null;
  override: ModelOverride | null;
  problem: CatalogProblem | null;
  price_varies: boolean;
  margins: Array<RowMargin>;
  /** A unit without extras at each resolution; none for text. */
  rates: Array<RowRate>;
  /** The catalog's own note of how a request can cost more than its charge. */
  cost_may_exceed: string | null;
  /** Day on which the model and its price were last checked. */
  checked_on: string | null;
  price_is_old: boolean;
  upstreams: Array<CatalogRoute>;
};

export type ModelOverride = {
  since: string;
  by: string;
  /** US dollars of a unit. If it depends on the resolution: by resolution, with `usd` for the others. For text: `input`, `output`, and if they differ `cached_input` and `cache_write`, of 1M tokens. `unit` may stand beside them. */
  price: string | Record<string, number | string> | number | null;
  upstreams: Array<SetRoute> | null;
  /** Parts that are not used, because the file has changed. */
  unfit: Array<'price' | 'upstreams'>;
};

export type SetRoute = { name: string; model?: string; share: number | null };

export type RowMargin = {
  of: 'unit' | 'with_extras' | 'input' | 'output' | 'cached_input' | 'cache_write';
  price_usd_micro: string;
  cost_usd_micro: string | null;
  margin_usd_micro: string | null;
  margin_ppm: number | null;
};

export type RowRate = {
  resolution: string | null;
  of: 'unit' | 'with_extras' | 'input' | 'output' | 'cached_input' | 'cache_write';
  price_usd_micro: string;
  cost_usd_micro: string | null;
  margin_usd_micro: string | null;
  margin_ppm: number | null;
};

export type CatalogRoute = {
  upstream: string;
  /** The name of the model at the upstream. */
  model: string;
  weight: number | null;
  input_mapping: Record<string, string>;
  input_defaults: Record<string, unknown>;
  set_up: boolean;
  /** Why it is not set up. */
  reason: string | null;
  margins: Array<RowMargin>;
  /** A unit without extras at each resolution; none for text. */
  rates: Array<RowRate>;
  /** As `upstream`. */
  name: string;
  /** Per cent of new requests that try it first; null: the order decides. */
  share: number | null;
};

export type CatalogRowDetail = CatalogRow & {
  /** `stopped`: the operator has stopped its sale. Requests get 503 `capacity_unavailable` with `details.reason` `stopped`; POST /estimate still prices. */
  status: 'live' | 'stopped';
  /** Only of a stopped model: the operator's words about it; null if there are none. */
  status_note?: string | null;
  /** US dollars per unit, all-inclusive; the highest rate if rates differ by resolution. For a text model: per 1M tokens in and out. For reading only; POST /estimate gives exact prices. */
  price: number | {
    /** Per 1M prompt tokens. */
    input: number;
    /** Per 1M completion tokens. */
    output: number;
    /** Per 1M prompt tokens read from the model's cache; `input` if missing. */
    cached_input?: number;
    /** Per 1M prompt tokens written to the model's cache; `input` if missing. */
    cache_write?: number;
  };
  /** US dollars per unit by resolution; only if they differ. */
  price_by_resolution?: Record<string, number>;
  /** As new requests are sold, in the form in which it is set. */
  sold: {
    /** US dollars of a unit. If it depends on the resolution: by resolution, with `usd` for the others. For text: `input`, `output`, and if they differ `cached_input` and `cache_write`, of 1M tokens. `unit` may stand beside them. */
    price: number | string | Record<string, number | string>;
    upstreams: Array<SetRoute>;
  };
  /** As in the catalog file. */
  filed: {
    /** US dollars of a unit. If it depends on the resolution: by resolution, with `usd` for the others. For text: `input`, `output`, and if they differ `cached_input` and `cache_write`, of 1M tokens. `unit` may stand beside them. */
    price: number | string | Record<string, number | string>;
    upstreams: Array<SetRoute>;
  };
  /** Rates that are below their stated cost. */
  losses: Array<string>;
  open: { waiting: number; running: number };
  /** A description for people; may be empty. */
  description: string;
  /** The owner of the model. */
  owned_by: string;
  /** Rules that add to the price of a unit. */
  extras: Array<ModelExtra>;
  /** JSON Schema (2020-12) of the input. */
  input_schema: Record<string, unknown>;
  /** An input that works. */
  example: Record<string, unknown>;
  /** Longest duration or largest count of one request. 0: no stated maximum. */
  max: number;
  /** The unit of `max`: `seconds` or `images`, for example. */
  max_unit: string;
  /** Values that the input `resolution` may take; may be empty. */
  resolutions: Array<Resolution>;
  note: string;
  file_note: string;
  job_age_seconds: number;
  on_cancel?: string;
  on_disconnect?: string;
  hidden_tokens?: boolean;
  input_modalities?: Array<string>;
  context_tokens?: number;
  max_output_tokens?: number;
  recent: {
    days: number;
    completed: number;
    failed: number;
    cost_usd_micro: string;
    uncosted: number;
    /** Charges less refunds. */
    charged_usd_micro: string;
    margin_usd_micro: string;
    by_upstream: Array<{
      upstream: string;
      completed: number;
      failed: number;
      cost_usd_micro: string;
    }>;
  };
};

export type ModelSale = {
  model_id: string;
  /** `stopped`: the operator has stopped its sale. Requests get 503 `capacity_unavailable` with `details.reason` `stopped`; POST /estimate still prices. */
  status: 'live' | 'stopped';
  status_note: string | null;
  /** US dollars per unit, all-inclusive; the highest rate if rates differ by resolution. For a text model: per 1M tokens in and out. For reading only; POST /estimate gives exact prices. */
  price: number | {
    /** Per 1M prompt tokens. */
    input: number;
    /** Per 1M completion tokens. */
    output: number;
    /** Per 1M prompt tokens read from the model's cache; `input` if missing. */
    cached_input?: number;
    /** Per 1M prompt tokens written to the model's cache; `input` if missing. */
    cache_write?: number;
  };
  /** US dollars per unit by resolution; only if they differ. */
  price_by_resolution?: Record<string, number>;
  upstreams: Array<SetRoute>;
  override: ModelOverride | null;
  /** Rates that are below their stated cost. */
  losses: Array<string>;
};

export type ModelHistoryEntry = {
  log_id: string;
  at: string;
  by: string;
  reason: string | null;
  /** The changed fields as they were: a body that undoes the change. */
  before: Record<string, unknown> | null;
  /** The changed fields as they became. Null: nothing changed. */
  after: Record<string, unknown> | null;
};

export type Upstream = {
  name: string;
  adapter: string | null;
  url: string | null;
  has_credential: boolean;
  file: string | null;
  /** Names of the environment variables that set it up. */
  variables: Array<string>;
  set_up: boolean;
  /** Why it is not set up. */
  reason: string | null;
  class: string | null;
  concurrency: number | null;
  /** Number of catalog rows. */
  rows: number;
  /** `draining`: nothing new starts there. `off`: it is not called at all. */
  state: 'on' | 'draining' | 'off';
  /** The newest change of state or key. */
  changed: { at: string; by: string } | null;
  /** A key that an operator has set. It is used in place of the variable. */
  stored_key: StoredKey | null;
  waiting: number;
  /** True if more are waiting than are counted. */
  waiting_more: boolean;
  oldest_seconds: number | null;
  in_use: number;
  paused_until: string | null;
  /** Consecutive failures. */
  failures: number;
  last_error: string | null;
  last_error_at: string | null;
  paused_models: Array<PausedModel>;
  /** Empty unless the upstream has several keys. */
  keys: Array<UpstreamKey>;
  last_hour: UpstreamFigures;
  last_day: UpstreamFigures;
  cost_today_usd_micro: string;
  cost_month_usd_micro: string;
  uncosted_month: number;
};

/** A key that an operator has set. It is used in place of the variable. */
export type StoredKey = {
  /** The last characters of each key. */
  ends_with: Array<string>;
  /** The fingerprint of the signing secret that encrypts it. */
  sealed_with: string;
};

export type PausedModel = {
  model: string;
  paused_until: string | null;
  /** Consecutive failures. */
  failures: number;
  last_error: string | null;
  last_error_at: string | null;
};

export type UpstreamKey = {
  /** The key's name. */
  key: string;
  in_use: number;
  paused_until: string | null;
  /** Consecutive failures. */
  failures: number;
  last_error: string | null;
  last_error_at: string | null;
  paused_models: Array<PausedModel>;
};

export type UpstreamFigures = {
  completed: number;
  failed: number;
  rejected: number;
  error_ppm: number | null;
  starts: number;
  starts_refused: number;
  start_median_ms: number | null;
  start_p95_ms: number | null;
  run_median_ms: number | null;
  run_p95_ms: number | null;
};

export type UpstreamDetail = Upstream & {
  counted_max: number;
  open: { waiting: number; running: number };
  /** The last 24 hours, oldest first; hours without requests too. */
  hours: Array<UpstreamHour>;
  /** The rows that use it. */
  sells: Array<{ model_id: string; name: string }>;
};

export type UpstreamHour = {
  from: string;
  completed: number;
  failed: number;
  rejected: number;
  run_median_ms: number | null;
  run_p95_ms: number | null;
  cost_usd_micro: string;
};

export type UpstreamCheck = {
  ok: boolean;
  name: string;
  adapter: string | null;
  url: string | null;
  has_credential: boolean;
  set_up: boolean;
  reason: string | null;
  /** Null: not asked. */
  answers: boolean | null;
  /** Null: not tried. */
  credential_taken: boolean | null;
  /** The result for each key, if there are several. */
  keys: Array<{ key: string; taken: boolean | null }>;
  rows: number;
  /** Number of models that the upstream lists. */
  listed: number | null;
  missing: Array<{ id: string; model: string; at: number }>;
  problems: Array<string>;
};

export type OperatorChain = {
  chain: string;
  title: string;
  chain_id: number;
  state: 'stopped' | 'refused' | 'behind' | 'retrying' | 'starting' | 'read' | 'not_set_up';
  /** Number of endpoints that are set up. */
  endpoints: number;
  /** True: the trial's own chain, simulated inside the process. */
  is_play: boolean;
  /** Its xpub is not the stored one, so no address is shown. */
  key_differs: boolean;
  start_height: number | null;
  /** The newest final block that was read. */
  scanned_height: number | null;
  /** When the block at `scanned_height` was made. */
  scanned_block_at: string | null;
  /** The newest block that was read a second time. */
  rescanned_height: number | null;
  /** The second reading fails, or is far behind. */
  rescan_late: boolean;
  /** The next block to read again at the request of an operator. */
  rescan_from: number | null;
  /** The last block to read again at the request of an operator. */
  rescan_to: number | null;
  /** The newest block at the last read. */
  head_height: number | null;
  lag_blocks: number | null;
  /** Age of the newest final block that was read. */
  lag_seconds: number | null;
  /** The last read without an error. */
  read_at: string | null;
  /** The next read. */
  wake_at: string | null;
  /** Consecutive reads that failed. */
  failures: number;
  last_error: string | null;
  /** A wrong setting. */
  refused_why: string | null;
  stopped_why: string | null;
  /** Deposits that are held. */
  held: number;
};

export type ChainSums = {
  chain: string;
  title: string;
  /** The credited deposits on the chain. */
  tokens: Array<{
    token: string;
    deposits: number;
    amount_usd_micro: string;
  }>;
  /** Deposits of all tokens. */
  deposits: number;
  amount_usd_micro: string;
  /** Deposits in the ledger that name this chain. */
  ledger_deposits: number;
  ledger_usd_micro: string;
  differs: boolean;
};

/** Why it is not credited. */
export type OperatorDepositWhy = 'unconfirmed' | 'unmatched' | 'review' | 'dust' | 'token' | 'operator';

export type OperatorDeposit = {
  deposit_id: string;
  chain: string;
  /** The chain's name for people. */
  title: string;
  /** Symbol of the token; its contract if the chain is no longer set up. */
  token: string;
  /** As the explorer writes it: without 0x on TRON. */
  tx_hash: string;
  log_position: number | null;
  /** A page that shows the transaction. */
  explorer_url: string | null;
  block_height: number;
  block_at: string;
  from_address: string;
  to_address: string;
  /** A page that shows the address that got it. */
  address_url: string | null;
  amount_usd_micro: string;
  /** Null: no account has the address. */
  account_id: string | null;
  account_email: string | null;
  account_name: string | null;
  state: 'held' | 'credited' | 'ignored';
  /** Why it is not credited. */
  why: OperatorDepositWhy | null;
  transfer_id: string | null;
  /** When it was found. */
  created_at: string;
  credited_at: string | null;
};

export type DecidedDeposit = {
  deposit_id: string;
  state: 'credited' | 'ignored';
  account_id: string | null;
  amount_usd_micro: string;
  transfer_id: string | null;
};

export type SignUpInvitation = { invitation_id: string; email: string; expires_at: string };

export type OperatorKey = {
  operator_key_id: string;
  name: string;
  /** First and last characters. */
  hint: string;
  scopes: Array<Scope>;
  /** The address of its maker, or "command line". */
  created_by: string;
  /** True: no operator has this address now. */
  maker_left: boolean;
  created_at: string;
  revoked_at: string | null;
  last_used_at: string | null;
};

export type Scope = 'read' | 'accounts' | 'keys' | 'money' | 'catalog';

export type OperatorSetting = {
  /** The name of its environment variable. */
  name: string;
  /** Null: not set, or a secret, of which no part is ever shown. */
  value: string | null;
  /** Where the value comes from. */
  from: 'default' | 'environment' | 'file';
  secret: boolean;
  /** Whether it has a value. */
  set: boolean;
  /** The sentence about it, in Markdown; links lead into the documentation. */
  says: string;
};

export type LogEntry = {
  log_id: string;
  by_email: string;
  /** The operator key that did it, if one did. */
  operator_key_id: string | null;
  action: string;
  account_id: string | null;
  account_email: string | null;
  account_name: string | null;
  target: string | null;
  details: Record<string, unknown> | null;
  created_at: string;
};
