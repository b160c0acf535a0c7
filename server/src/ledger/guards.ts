/**
 * What keeps the books right at every commit, by name: the audit proves that it stands. Written
 * down here and not read from the migrations, since whoever takes a guard away may change those.
 */
export const guards = {
  constraints: {
    accounts: [
      'accounts_email_check',
      'accounts_email_key',
      'accounts_pkey',
      'accounts_status_check',
      'accounts_webhook_secrets_check',
    ],
    balances: [
      'balances_credits_pending_check',
      'balances_credits_posted_check',
      'balances_debits_pending_check',
      'balances_debits_posted_check',
      'balances_last_seq_check',
      'balances_pkey',
      'never_below_zero',
    ],
    key_usage: [
      'key_usage_month_check',
      'key_usage_open_requests_check',
      'key_usage_pending_usd_micro_check',
      'key_usage_pkey',
      'key_usage_posted_usd_micro_check',
    ],
    keys: [
      'keys_account_id_fkey',
      'keys_hash_check',
      'keys_hash_key',
      'keys_last4_check',
      'keys_monthly_limit_usd_micro_check',
      'keys_name_check',
      'keys_open_jobs_check',
      'keys_pkey',
      'keys_prefix_check',
      'keys_rpm_check',
    ],
    request_inputs: [
      'key_has_fingerprint',
      'request_inputs_fingerprint_check',
      'request_inputs_idempotency_key_check',
      'request_inputs_pkey',
      'request_inputs_webhook_url_check',
    ],
    request_results: [
      'request_results_cost_usd_micro_check',
      'request_results_error_message_check',
      'request_results_pkey',
      'request_results_quantity_check',
    ],
    requests: [
      'charge_within_quote',
      'cleared_is_over',
      'failure_has_code',
      'failure_is_free',
      'final_has_time',
      'final_means_settled',
      'open_request_has_alarm',
      'progress_has_start',
      'queued_not_started',
      'requests_attempt_check',
      'requests_error_code_check',
      'requests_kind_check',
      'requests_pkey',
      'requests_quoted_usd_micro_check',
      'requests_status_check',
      'requests_webhook_state_check',
      'slot_is_open',
    ],
    transfers: [
      'deposit_has_reference',
      'movement_has_amount',
      'settlement_names_its_reserve',
      'transfers_amount_usd_micro_check',
      'transfers_available_after_usd_micro_check',
      'transfers_kind_check',
      'transfers_pkey',
      'transfers_reason_check',
      'transfers_reference_check',
      'transfers_seq_check',
      'two_sides',
    ],
  },
  /** Those that no constraint made. */
  unique_indexes: [
    'request_inputs_idempotency',
    'transfers_account_seq',
    'transfers_pending',
    'transfers_reference',
  ],
} as const;

const named = Object.entries(guards.constraints)
  .flatMap(([table, names]) => names.map((name) => `('${table}', '${name}')`))
  .join(', ');
const indexes = guards.unique_indexes.map((name) => `('${name}')`).join(', ');

/**
 * Selects the guards that are missing or off. A trigger that fires for each statement before
 * UPDATE, DELETE and TRUNCATE has tgtype 2 + 16 + 8 + 32. Only newer servers know CHECKs that are
 * not enforced, hence the detour over JSON.
 */
export const missingGuards = `
  select 'constraint' as guard, g.on_table, g.name from (values ${named}) as g (on_table, name)
    where not exists (select from pg_constraint c
      where c.conrelid = to_regclass(g.on_table) and c.conname = g.name and c.convalidated
        and coalesce((to_jsonb(c)->>'conenforced')::boolean, true))
  union all select 'unique index', null, g.name from (values ${indexes}) as g (name)
    where not exists (select from pg_index i
      where i.indexrelid = to_regclass(g.name) and i.indisunique and i.indisvalid)
  union all select 'trigger', 'transfers', 'transfers_append_only'
    where not exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
      where t.tgrelid = to_regclass('transfers') and t.tgname = 'transfers_append_only'
        and t.tgenabled in ('O', 'A') and t.tgtype = 58 and t.tgqual is null
        and p.proname = 'refuse_change' and p.prosrc ~ '^\\s*begin\\s+raise exception')`;
