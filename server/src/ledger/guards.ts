/**
 * The guards of the books (constraints, indexes, triggers) as PostgreSQL prints them after the
 * migrations; versions 15 and 18 print the same. The audit proves that they exist, word for word.
 * They are not read from the migrations, because anyone who removes a guard may change those files
 * too.
 */
export const guards = {
  constraint: {
    balances: {
      balances_credits_pending_check: 'CHECK ((credits_pending = 0))',
      balances_credits_posted_check: 'CHECK ((credits_posted >= 0))',
      balances_debt_check: 'CHECK ((debt >= 0))',
      balances_debits_pending_check: 'CHECK ((debits_pending >= 0))',
      balances_debits_posted_check: 'CHECK ((debits_posted >= 0))',
      balances_kept_bytes_check: 'CHECK ((kept_bytes >= 0))',
      balances_last_seq_check: 'CHECK ((last_seq >= 0))',
      balances_open_requests_check: 'CHECK ((open_requests >= 0))',
      balances_pkey: 'PRIMARY KEY (account_id)',
      never_below_zero: 'CHECK ((((credits_posted - debits_posted) - debits_pending) >= 0))',
    },
    bonuses: {
      bonuses_counted_usd_micro_check: 'CHECK ((counted_usd_micro >= 0))',
      bonuses_ended_by_key: 'UNIQUE (ended_by)',
      bonuses_left_usd_micro_check: 'CHECK ((left_usd_micro >= 0))',
      bonuses_pkey: 'PRIMARY KEY (transfer_id)',
    },
    chain_deposits: {
      chain_deposits_account_id_fkey: 'FOREIGN KEY (account_id) REFERENCES accounts(id)',
      chain_deposits_amount_units_check: 'CHECK ((amount_units >= (0)::numeric))',
      chain_deposits_amount_usd_micro_check: 'CHECK ((amount_usd_micro >= 0))',
      chain_deposits_block_hash_check: "CHECK ((block_hash ~ '^0x[0-9a-f]{64}$'::text))",
      chain_deposits_block_height_check: 'CHECK ((block_height >= 0))',
      chain_deposits_block_log_index_check: 'CHECK ((block_log_index >= 0))',
      chain_deposits_chain_fkey: 'FOREIGN KEY (chain) REFERENCES chains(name)',
      chain_deposits_chain_tx_hash_log_position_key: 'UNIQUE (chain, tx_hash, log_position)',
      chain_deposits_from_address_check: "CHECK ((from_address ~ '^0x[0-9a-f]{40}$'::text))",
      chain_deposits_log_position_check: 'CHECK ((log_position >= 0))',
      chain_deposits_pkey: 'PRIMARY KEY (id)',
      chain_deposits_state_check:
        "CHECK ((state = ANY (ARRAY['held'::text, 'credited'::text, 'ignored'::text])))",
      chain_deposits_to_address_check: "CHECK ((to_address ~ '^0x[0-9a-f]{40}$'::text))",
      chain_deposits_token_check: "CHECK ((token ~ '^0x[0-9a-f]{40}$'::text))",
      chain_deposits_transfer_id_key: 'UNIQUE (transfer_id)',
      chain_deposits_tx_hash_check: "CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text))",
      chain_deposits_why_check:
        "CHECK ((why = ANY (ARRAY['unconfirmed'::text, 'unmatched'::text, 'review'::text, 'dust'::text, 'token'::text, 'operator'::text])))",
      credited_has_owner:
        "CHECK (((state <> 'credited'::text) OR ((account_id IS NOT NULL) AND (amount_usd_micro > 0))))",
      credited_has_time: "CHECK (((state = 'credited'::text) = (credited_at IS NOT NULL)))",
      credited_is_booked: "CHECK (((state = 'credited'::text) = (transfer_id IS NOT NULL)))",
      credited_is_placed: "CHECK (((state <> 'credited'::text) OR (log_position IS NOT NULL)))",
      placed_or_numbered: 'CHECK ((num_nonnulls(log_position, block_log_index) > 0))',
      uncredited_says_why: "CHECK (((state = 'credited'::text) = (why IS NULL)))",
      why_fits_state:
        "CHECK (((why IS NULL) OR ((state = 'held'::text) = (why = ANY (ARRAY['unconfirmed'::text, 'unmatched'::text, 'review'::text])))))",
    },
    operator_log: {
      operator_log_action_check: 'CHECK (((length(action) >= 1) AND (length(action) <= 100)))',
      operator_log_by_email_check: 'CHECK ((length(by_email) <= 254))',
      operator_log_pkey: 'PRIMARY KEY (id)',
      operator_log_seq_check: 'CHECK ((seq > 0))',
      operator_log_seq_key: 'UNIQUE (seq)',
      operator_log_target_check: 'CHECK ((length(target) <= 300))',
      person_or_key: 'CHECK (((person_id IS NULL) OR (operator_key_id IS NULL)))',
    },
    receipts: {
      receipts_buyer_check: 'CHECK (((length(buyer) >= 1) AND (length(buyer) <= 1000)))',
      receipts_network_check: 'CHECK (((length(network) >= 1) AND (length(network) <= 200)))',
      receipts_number_check: 'CHECK ((number > 0))',
      receipts_pkey: 'PRIMARY KEY (number)',
      receipts_seller_check: 'CHECK (((length(seller) >= 1) AND (length(seller) <= 1300)))',
      receipts_transfer_id_key: 'UNIQUE (transfer_id)',
    },
    requests: {
      cancel_costs_by_rule:
        "CHECK (((status <> 'CANCELLED'::text) OR (charged_usd_micro = 0) OR ((on_cancel IS NOT NULL) AND ((on_cancel = 'upstream'::text) OR ((on_cancel = 'full'::text) AND (charged_usd_micro = quoted_usd_micro))))))",
      cancel_has_rule: 'CHECK (((cancel_requested_at IS NULL) = (on_cancel IS NULL)))',
      cancelled_on_request:
        "CHECK (((status <> 'CANCELLED'::text) OR (started_at IS NULL) OR (cancel_requested_at IS NOT NULL)))",
      charge_within_quote:
        'CHECK (((charged_usd_micro >= 0) AND (charged_usd_micro <= quoted_usd_micro)))',
      cleared_is_over:
        'CHECK (((cleared_at IS NULL) OR ((completed_at IS NOT NULL) AND (wake_at IS NULL))))',
      failure_has_code: "CHECK (((status = 'FAILED'::text) = (error_code IS NOT NULL)))",
      failure_is_free: "CHECK (((status <> 'FAILED'::text) OR (charged_usd_micro = 0)))",
      final_has_time:
        "CHECK (((status = ANY (ARRAY['COMPLETED'::text, 'FAILED'::text, 'CANCELLED'::text])) = (completed_at IS NOT NULL)))",
      final_means_settled:
        "CHECK (((status = ANY (ARRAY['COMPLETED'::text, 'FAILED'::text, 'CANCELLED'::text])) = (charged_usd_micro IS NOT NULL)))",
      open_request_wakes:
        "CHECK (((status <> ALL (ARRAY['IN_QUEUE'::text, 'IN_PROGRESS'::text])) OR (wake_at IS NOT NULL)))",
      progress_has_start:
        "CHECK (((status = 'IN_PROGRESS'::text) <= ((started_at IS NOT NULL) AND (deadline_at IS NOT NULL))))",
      queued_not_started: "CHECK (((status <> 'IN_QUEUE'::text) OR (started_at IS NULL)))",
      requests_attempt_check: 'CHECK ((attempt >= 0))',
      requests_error_code_check:
        "CHECK ((error_code = ANY (ARRAY['upstream_rejected'::text, 'upstream_failed'::text, 'timeout'::text, 'output_too_large'::text, 'outcome_unknown'::text, 'output_unusable'::text])))",
      requests_kind_check:
        "CHECK ((kind = ANY (ARRAY['video'::text, 'image'::text, 'text'::text])))",
      requests_on_cancel_check:
        "CHECK ((on_cancel = ANY (ARRAY['free'::text, 'upstream'::text, 'full'::text])))",
      requests_pkey: 'PRIMARY KEY (id)',
      requests_quoted_usd_micro_check: 'CHECK ((quoted_usd_micro >= 0))',
      requests_status_check:
        "CHECK ((status = ANY (ARRAY['IN_QUEUE'::text, 'IN_PROGRESS'::text, 'COMPLETED'::text, 'FAILED'::text, 'CANCELLED'::text])))",
      requests_upstream_model_check: 'CHECK ((length(upstream_model) <= 2000))',
      requests_webhook_state_check:
        "CHECK ((webhook_state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))",
      slot_is_open:
        "CHECK (((NOT slot) OR (status = ANY (ARRAY['IN_QUEUE'::text, 'IN_PROGRESS'::text]))))",
      started_is_cancelled_on_request:
        'CHECK (((cancel_requested_at IS NULL) OR (started_at IS NOT NULL)))',
      waiting_has_no_slot:
        "CHECK (((NOT waits) OR ((status = 'IN_PROGRESS'::text) AND (NOT slot))))",
    },
    resolutions: {
      resolutions_attempt_check: 'CHECK ((attempt >= 0))',
      resolutions_by_email_check: 'CHECK ((length(by_email) <= 254))',
      resolutions_cost_usd_micro_check: 'CHECK ((cost_usd_micro >= 0))',
      resolutions_note_check: 'CHECK (((length(note) >= 1) AND (length(note) <= 1000)))',
      resolutions_outcome_check:
        "CHECK ((outcome = ANY (ARRAY['ran'::text, 'did_not_run'::text])))",
      resolutions_pkey: 'PRIMARY KEY (request_id, attempt)',
      what_did_not_run_is_free: "CHECK (((outcome = 'ran'::text) OR (cost_usd_micro = 0)))",
    },
    seal_heads: {
      seal_heads_hash_check: 'CHECK ((length(hash) = 32))',
      seal_heads_number_check: 'CHECK ((number > 0))',
      seal_heads_pkey: 'PRIMARY KEY (number)',
      seal_heads_seals_check: 'CHECK ((seals > 0))',
      seal_heads_transfers_check: 'CHECK ((transfers > 0))',
    },
    seals: {
      seals_credits_posted_check: 'CHECK ((credits_posted >= 0))',
      seals_debits_pending_check: 'CHECK ((debits_pending >= 0))',
      seals_debits_posted_check: 'CHECK ((debits_posted >= 0))',
      seals_debt_check: 'CHECK ((debt >= 0))',
      seals_hash_check: 'CHECK ((length(hash) = 32))',
      seals_head_fkey: 'FOREIGN KEY (head) REFERENCES seal_heads(number)',
      seals_last_seq_check: 'CHECK ((last_seq > 0))',
      seals_pkey: 'PRIMARY KEY (account_id, last_seq)',
    },
    transfers: {
      deposit_has_source: "CHECK (((source IS NOT NULL) = (kind = 'deposit'::text)))",
      deposit_has_reference: "CHECK (((kind <> 'deposit'::text) OR (reference IS NOT NULL)))",
      movement_has_amount:
        "CHECK (((kind <> ALL (ARRAY['deposit'::text, 'adjustment'::text, 'debt'::text])) OR (amount_usd_micro > 0)))",
      refund_is_a_deposit: "CHECK (((refunded_id IS NULL) OR (source = 'refund'::text)))",
      settlement_names_its_reserve:
        "CHECK (((pending_id IS NOT NULL) = (kind = ANY (ARRAY['charge'::text, 'release'::text]))))",
      transfers_amount_usd_micro_check: 'CHECK ((amount_usd_micro >= 0))',
      transfers_available_after_usd_micro_check: 'CHECK ((available_after_usd_micro >= 0))',
      transfers_kind_check:
        "CHECK ((kind = ANY (ARRAY['deposit'::text, 'adjustment'::text, 'reserve'::text, 'charge'::text, 'release'::text, 'debt'::text, 'expiry'::text])))",
      transfers_pkey: 'PRIMARY KEY (id)',
      transfers_reason_check: 'CHECK ((length(reason) <= 1000))',
      transfers_reference_check:
        'CHECK (((length(reference) >= 1) AND (length(reference) <= 255)))',
      transfers_seq_check: 'CHECK ((seq > 0))',
      transfers_source_check:
        "CHECK ((source = ANY (ARRAY['paid'::text, 'chain'::text, 'voucher'::text, 'bonus'::text, 'refund'::text])))",
      two_sides:
        'CHECK (((debit_account_id <> credit_account_id) AND ((account_id = debit_account_id) OR (account_id = credit_account_id))))',
    },
    vouchers: {
      redeemed_by_somebody: 'CHECK (((redeemed_at IS NULL) = (redeemed_by IS NULL)))',
      redeemed_or_void: 'CHECK (((redeemed_at IS NULL) OR (voided_at IS NULL)))',
      vouchers_amount_usd_micro_check: 'CHECK ((amount_usd_micro > 0))',
      vouchers_code_hash_check: 'CHECK ((length(code_hash) = 32))',
      vouchers_code_hash_key: 'UNIQUE (code_hash)',
      vouchers_created_by_fkey: 'FOREIGN KEY (created_by) REFERENCES people(id) ON DELETE SET NULL',
      vouchers_last4_check: 'CHECK ((length(last4) = 4))',
      vouchers_note_check: 'CHECK ((length(note) <= 200))',
      vouchers_pkey: 'PRIMARY KEY (id)',
      vouchers_redeemed_by_fkey: 'FOREIGN KEY (redeemed_by) REFERENCES accounts(id)',
    },
  },
  /** Unique indexes that do not belong to a constraint. */
  'unique index': {
    chain_deposits: {
      chain_deposits_unplaced:
        'CREATE UNIQUE INDEX chain_deposits_unplaced ON chain_deposits USING btree (chain, tx_hash, block_log_index) WHERE (log_position IS NULL)',
    },
    transfers: {
      transfers_account_seq:
        'CREATE UNIQUE INDEX transfers_account_seq ON transfers USING btree (account_id, seq)',
      transfers_pending:
        'CREATE UNIQUE INDEX transfers_pending ON transfers USING btree (pending_id) WHERE (pending_id IS NOT NULL)',
      transfers_reference:
        'CREATE UNIQUE INDEX transfers_reference ON transfers USING btree (reference) WHERE (reference IS NOT NULL)',
    },
  },
  /** Each trigger is followed by the source of its function. */
  trigger: {
    accounts: ofVersion('accounts'),
    audit_results: ofVersion('audit_results'),
    keys: ofVersion('keys'),
    operator_log: { ...appendOnly('operator_log'), ...ofVersion('operator_log') },
    receipts: appendOnly('receipts'),
    request_inputs: pairTriggers(),
    requests: ofVersion('requests', 'INSERT OR DELETE OR UPDATE'),
    resolutions: appendOnly('resolutions'),
    seal_heads: appendOnly('seal_heads'),
    seals: appendOnly('seals'),
    transfers: { ...appendOnly('transfers'), ...ofVersion('transfers', 'INSERT') },
    vouchers: ofVersion('vouchers'),
  },
};

/** The pairs of metadata by which requests are found. */
function pairTriggers() {
  const keeps = `begin
    if tg_op = 'UPDATE' then
      delete from metadata_pairs p using jsonb_each_text(old.metadata) pair (name, value)
        where p.account_id = old.account_id and p.name = pair.name and p.value = pair.value
          and p.request_id = old.request_id;
    end if;
    insert into metadata_pairs
      select new.account_id, name, value, new.request_id
      from jsonb_each_text(new.metadata) pair (name, value) where value is not null
      on conflict do nothing;
    return null;
  end`.replaceAll(/\s+/g, ' ');
  const trigger = (name: string, event: string, when: string) =>
    `CREATE TRIGGER ${name} AFTER ${event} ON request_inputs FOR EACH ROW WHEN ((${when})) EXECUTE FUNCTION keep_metadata_pairs() AS ${keeps}`;
  return {
    metadata_kept: trigger('metadata_kept', 'INSERT', 'new.metadata IS NOT NULL'),
    metadata_changed: trigger(
      'metadata_changed',
      'UPDATE OF metadata',
      'new.metadata IS DISTINCT FROM old.metadata',
    ),
  };
}

function appendOnly(table: string) {
  const name = `${table}_append_only`;
  const refuses =
    "begin raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation'; end";
  const when = `BEFORE DELETE OR UPDATE OR TRUNCATE ON ${table} FOR EACH STATEMENT`;
  return {
    [name]: `CREATE TRIGGER ${name} ${when} EXECUTE FUNCTION refuse_change() AS ${refuses}`,
  };
}

/** Refuses writes of a process whose code a migration has broken. */
function ofVersion(table: string, writes = 'INSERT OR UPDATE') {
  const name = `${table}_version`;
  const refuses = [
    'declare needed integer := (select coalesce(max(coalesce(breaks_before, number)), 0) from migrations);',
    "made_for integer := nullif(current_setting('farebox.schema', true), '');",
    'begin if made_for >= needed then return null; end if;',
    "raise exception 'the database needs code of migration %, and this session is made for %', needed,",
    "coalesce(made_for::text, 'an older one') using errcode = 'read_only_sql_transaction',",
    "hint = format('A session by hand needs: set farebox.schema = ''%s''', needed); end",
  ].join(' ');
  const when = `BEFORE ${writes} ON ${table} FOR EACH STATEMENT`;
  return {
    [name]: `CREATE TRIGGER ${name} ${when} EXECUTE FUNCTION refuse_older_version() AS ${refuses}`,
  };
}

const kept = Object.entries(guards).flatMap(([guard, tables]) =>
  Object.entries(tables).flatMap(([table, names]) =>
    Object.entries(names).map(([name, text]) =>
      [guard, table, name, text].map((part) => `'${part.replaceAll("'", "''")}'`).join(', '),
    ),
  ),
);

/** Other tables on which no trigger or rule may undo a write. */
const beside = [
  'accounts',
  'audit_progress',
  'audit_results',
  'key_usage',
  'keys',
  'request_inputs',
  'request_results',
];
const tables = [...Object.keys(guards.constraint), ...beside].map(
  (name) => `to_regclass('${name}')`,
);

/**
 * Selects the guards that are missing, disabled or changed, and anything else that could undo a
 * write. Definitions are compared without the schema's name, which the operator chooses, and with
 * runs of white space as one space.
 */
export const missingGuards = `
  with kept (guard, on_table, name, text) as (values (${kept.join('), (')})),
  books as (
    select c.oid, c.relname as on_table, quote_ident(n.nspname) || '.' as prefix,
      c.relpersistence
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid in (${tables.join(', ')})),
  triggers as (
    select b.on_table, b.prefix, t.tgname as name, t.tgisinternal as internal,
      t.tgenabled in ('O', 'A') as is_on, pg_get_triggerdef(t.oid) || ' AS ' || p.prosrc as text
    from pg_trigger t join books b on b.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid),
  there as (
    select 'constraint' as guard, b.on_table, b.prefix, c.conname as name,
      pg_get_constraintdef(c.oid) as text
      from pg_constraint c join books b on b.oid = c.conrelid
    union all select 'unique index', b.on_table, b.prefix, i.relname,
      pg_get_indexdef(i.oid) || case when x.indisvalid then '' else ' (not valid)' end
      from pg_index x join pg_class i on i.oid = x.indexrelid join books b on b.oid = x.indrelid
    union all select 'trigger', on_table, prefix, name,
      text || case when is_on then '' else ' (off)' end
      from triggers where not internal),
  found as (
    select guard, on_table, name,
      btrim(regexp_replace(replace(text, prefix, ''), '\\s+', ' ', 'g')) as text
    from there)
  select guard, on_table, name, f.text as found
    from kept g left join found f using (guard, on_table, name) where f.text is distinct from g.text
  union all select 'trigger that is not ours', on_table, name, text from triggers t
    where not internal and not exists (select from kept g
      where (g.guard, g.on_table, g.name) = ('trigger', t.on_table, t.name))
  union all select 'trigger of a foreign key, off', on_table, name, text from triggers
    where internal and not is_on
  union all select 'table that a crash empties', on_table, on_table, 'unlogged' from books
    where relpersistence <> 'p'
  union all select 'rule', b.on_table, r.rulename, pg_get_ruledef(r.oid)
    from pg_rewrite r join books b on b.oid = r.ev_class`;
