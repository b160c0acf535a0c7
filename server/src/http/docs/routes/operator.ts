import { exampleAccountId, exampleCard, exampleId, exampleNumbers } from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** The calls below /operator. */

const tag = 'Operator';
const created_at = '2026-03-01T12:00:00.000Z';

const exampleAccount = {
  account_id: exampleAccountId,
  email: 'ana@example.com',
  name: 'Ana',
  status: 'active',
  is_operator: false,
  price_ppm: 1_000_000,
  keys_by_api: true,
  available_usd_micro: '25000000',
  reserved_usd_micro: '0',
  debt_usd_micro: '0',
  month_usd_micro: '1230000',
  created_at,
};

const exampleKey = {
  key_id: exampleCard.key_id,
  name: 'web',
  prefix: 'fbx_ab',
  last4: 'wxyz',
  monthly_limit_usd_micro: '100000000',
  rpm: 300,
  open_jobs: null,
  scope: 'spend',
  models: null,
  month_usd_micro: '1230000',
  open_requests: 0,
  state: 'active',
  created_at,
  created_by: null,
  created_by_name: null,
  expires_at: null,
  revoked_at: null,
};

const exampleTransferId = '0199b3d4-6e7f-7d21-b0c8-4a5e9f1d2c73';
const exampleBooking = {
  transfer_id: exampleTransferId,
  replayed: false,
  available_usd_micro: '25000000',
  reserved_usd_micro: '0',
  debt_usd_micro: '0',
};

const exampleRefund = {
  ...exampleBooking,
  request_id: exampleId,
  refunded_usd_micro: '60000',
};

const page = (entry: object) => ({
  description: 'One page.',
  examples: one({ data: [entry], next_cursor: null }),
});

export const listAccounts: RouteDocs = {
  operationId: 'listAccounts',
  tag,
  summary: 'List or search accounts',
  description:
    'Newest first. `q` also finds accounts by their people, keys, requests and payments.',
  replies: { 200: page({ ...exampleAccount, matched: [] }) },
  errors: ['bad_request'],
};

export const readAccount: RouteDocs = {
  operationId: 'readAccount',
  tag,
  summary: 'Read an account',
  description: 'The account with its people, its newest keys and its open invitations.',
  replies: {
    200: {
      description: 'The account.',
      examples: one({
        ...exampleAccount,
        people: [
          {
            person_id: '0199b39f-8f41-7b02-9d3e-61c0a5b7e948',
            name: 'Ana',
            email: 'ana@example.com',
            email_verified: true,
            two_factor_enabled: false,
            role: 'owner',
            seen_at: created_at,
          },
        ],
        keys: [exampleKey],
        key_ceilings: {
          monthly_ceiling_usd_micro: null,
          rpm_ceiling: null,
          open_jobs_ceiling: null,
        },
        deposits: [{ source: 'paid', amount_usd_micro: '26230000' }],
        invitations: [],
      }),
    },
  },
  errors: ['bad_request', 'not_found'],
};

export const createAccount: RouteDocs = {
  operationId: 'createAccount',
  tag,
  summary: 'Create an account',
  description:
    'Creates an account with an empty balance. An address that already has an account is refused ' +
    'with 400 and `details.reason` `email_taken`, an unusable one with `email_invalid`.',
  body: {
    description: 'The address, and whether to invite it.',
    examples: one({ email: 'ana@example.com', invite: true }),
  },
  replies: {
    201: {
      description: 'The new account.',
      examples: one({
        account_id: exampleAccountId,
        email: 'ana@example.com',
        invitation_link: 'https://example.com/invitation?token=Zk3xH0m1Yb7QpVtq',
      }),
    },
  },
  errors: ['bad_request', 'invalid_input', 'payload_too_large', 'unsupported_media_type'],
};

export const suspend: RouteDocs = {
  operationId: 'suspendAccount',
  tag,
  summary: 'Suspend an account',
  description:
    'Refuses all keys of the account from the next call on. Open jobs run to their end and are ' +
    "charged. The call has no body; a repeat changes nothing. An operator's account cannot be " +
    'suspended by API.',
  replies: { 200: { description: 'Its status.', examples: one({ status: 'suspended' }) } },
  errors: ['bad_request', 'not_found'],
};

export const resume: RouteDocs = {
  operationId: 'resumeAccount',
  tag,
  summary: 'End a suspension',
  description: 'The account works again from the next call on. The call has no body.',
  replies: { 200: { description: 'Its status.', examples: one({ status: 'active' }) } },
  errors: ['bad_request', 'not_found'],
};

export const credit: RouteDocs = {
  operationId: 'creditAccount',
  tag,
  summary: 'Credit an account',
  description:
    'Books a deposit. `reference` names the payment outside Farebox and is booked once: a repeat ' +
    'of the same credit gets 200 with the same `transfer_id`, and another amount, source or ' +
    'account under the same reference gets 409 `idempotency_conflict`. So you may send a payment ' +
    'each time that your payment system reports it.',
  body: {
    description: 'The deposit.',
    examples: one({
      amount_usd_micro: '25000000',
      reference: 'stripe cs_test_a1b2c3',
      source: 'paid',
      note: 'Checkout of 1 March',
    }),
  },
  replies: {
    200: {
      description: 'It was booked before; nothing was changed.',
      examples: one({ ...exampleBooking, replayed: true }),
    },
    201: { description: 'It is booked.', examples: one(exampleBooking) },
  },
  errors: [
    'bad_request',
    'not_found',
    'idempotency_conflict',
    'payload_too_large',
    'unsupported_media_type',
  ],
};

export const adjust: RouteDocs = {
  operationId: 'adjustAccount',
  tag,
  summary: 'Correct a balance',
  description:
    'Books a correction. A negative one that exceeds the available balance is refused; with ' +
    '`allows_debt`, such as for a chargeback, the rest becomes a debt that the next deposit pays first. The same `reference` is ' +
    'booked once: a repeat of the same correction gets 200 with the same `transfer_id`, and any ' +
    'other booking under it 409 `idempotency_conflict`.',
  body: {
    description: 'The correction.',
    examples: one({
      amount_usd_micro: '-2500000',
      reference: 'ticket 881',
      reason: 'credited to the wrong account',
    }),
  },
  replies: {
    200: {
      description: 'It was booked before; nothing was changed.',
      examples: one({ ...exampleBooking, replayed: true }),
    },
    201: { description: 'It is booked.', examples: one(exampleBooking) },
  },
  errors: [
    'bad_request',
    'not_found',
    'idempotency_conflict',
    'payload_too_large',
    'unsupported_media_type',
  ],
};

export const refund: RouteDocs = {
  operationId: 'refundRequest',
  tag,
  summary: 'Refund a request',
  description:
    'Gives back a part of the charge of a request, or all that is left of it, out of revenue. The ' +
    'same `reference` is booked once: a repeat gets 200 with the same `transfer_id`, and any other ' +
    'booking under it 409 `idempotency_conflict`.',
  body: {
    description: 'The refund.',
    examples: one({
      amount_usd_micro: '60000',
      reference: 'ticket 882',
      reason: 'the picture was black',
    }),
  },
  replies: {
    200: {
      description: 'It was booked before; nothing was changed.',
      examples: one({ ...exampleRefund, replayed: true }),
    },
    201: { description: 'It is booked.', examples: one(exampleRefund) },
  },
  errors: [
    'bad_request',
    'not_found',
    'idempotency_conflict',
    'payload_too_large',
    'unsupported_media_type',
  ],
};

export const listKeys: RouteDocs = {
  operationId: 'listKeys',
  tag,
  summary: 'List the keys of an account',
  description: 'Newest first, revoked ones too.',
  replies: { 200: page(exampleKey) },
  errors: ['bad_request', 'not_found'],
};

export const createKey: RouteDocs = {
  operationId: 'createKey',
  tag,
  summary: 'Create a key of an account',
  description:
    "The account's people can lower the limits given here, but neither raise nor remove them.",
  body: {
    description:
      "Its name and limits. Where a limit is null or left out, only the service's own limit " +
      'applies, if there is one.',
    examples: one({ name: 'web', monthly_limit_usd_micro: '100000000', rpm: 300 }),
  },
  replies: {
    201: {
      description: 'The key, with its secret.',
      examples: one({ key: 'fbx_abCDEFGHIJKLMNOPQRSTUVWXYZ01234567wxyz', ...exampleKey }),
    },
  },
  errors: ['bad_request', 'not_found', 'payload_too_large', 'unsupported_media_type'],
};

export const changeKey: RouteDocs = {
  operationId: 'changeKey',
  tag,
  summary: 'Change the limits of a key',
  description:
    'Null removes a limit, and a limit that is left out stays. A changed spending, rate or job ' +
    "limit also applies to keys that the account's people make later.",
  body: {
    description: 'The limits to change.',
    examples: one({ monthly_limit_usd_micro: '50000000', rpm: null }),
  },
  replies: { 200: { description: 'The key.', examples: one(exampleKey) } },
  errors: ['bad_request', 'not_found', 'payload_too_large', 'unsupported_media_type'],
};

export const revokeKey: RouteDocs = {
  operationId: 'revokeKey',
  tag,
  summary: 'Revoke a key of an account',
  description: 'Refuses the key for good, from the next call on. The call has no body.',
  replies: {
    200: {
      description: 'The key.',
      examples: one({ ...exampleKey, state: 'revoked', revoked_at: '2026-03-02T08:00:00.000Z' }),
    },
  },
  errors: ['bad_request', 'not_found'],
};

export const listAllRequests: RouteDocs = {
  operationId: 'listAllRequests',
  tag,
  summary: 'List requests of all accounts',
  description:
    'Newest first, each with its upstream, cost and margin. A search that matches little may ' +
    'give a page with few entries and a `next_cursor`: go on until `next_cursor` is null.',
  replies: {
    200: page({
      request_id: exampleId,
      account_id: exampleAccountId,
      key_id: exampleCard.key_id,
      model_id: exampleCard.model_id,
      kind: 'image',
      upstream: 'sandbox',
      status: 'COMPLETED',
      quoted_usd_micro: '60000',
      charged_usd_micro: '60000',
      refunded_usd_micro: '0',
      cost_usd_micro: '40000',
      margin_usd_micro: '20000',
      error_code: null,
      created_at,
      completed_at: exampleCard.completed_at,
      ...exampleNumbers,
    }),
  },
  errors: ['bad_request', 'not_found'],
};

export const listTransfers: RouteDocs = {
  operationId: 'listTransfers',
  tag,
  summary: 'List movements of money',
  description:
    'Newest first, of all accounts or of one. A transfer never changes. A search that matches ' +
    'little may give a page with few entries and a `next_cursor`: go on until `next_cursor` is ' +
    'null.',
  replies: {
    200: page({
      transfer_id: exampleTransferId,
      account_id: exampleAccountId,
      kind: 'deposit',
      direction: 'in',
      amount_usd_micro: '25000000',
      available_after_usd_micro: '25000000',
      request_id: null,
      source: 'paid',
      reference: 'stripe cs_test_a1b2c3',
      reason: null,
      created_at,
    }),
  },
  errors: ['bad_request', 'not_found'],
};

export const readUsage: RouteDocs = {
  operationId: 'readUsage',
  tag,
  summary: 'Sum up usage',
  description:
    'Requests, charges and costs by day, model, account and key, on the day (UTC) on which the ' +
    'requests ended; sorted by these fields, in this order. A period has at most 92 days; at ' +
    'most 31 with `key`, or with `model` and `account` together.',
  query: { by: 'One or more of `day`, `model`, `account` and `key`, with commas between.' },
  replies: {
    200: page({
      day: '2026-03-01',
      model_id: null,
      account_id: exampleAccountId,
      key_id: null,
      completed: 21,
      failed: 1,
      charged_usd_micro: '1230000',
      cost_usd_micro: '840000',
    }),
  },
  errors: ['bad_request'],
};

export const listEvents: RouteDocs = {
  operationId: 'listEvents',
  tag,
  summary: "List the operator's events",
  description:
    'The events of the last 30 days, newest first, delivered or not: a receiver that lost some ' +
    'catches up here.',
  replies: {
    200: page({
      event_id: exampleTransferId,
      type: 'deposit.credited',
      account_id: exampleAccountId,
      created_at,
      data: {
        deposit_id: exampleId,
        chain: 'tron',
        token: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
        tx_hash: '5e'.repeat(32),
        log_position: 0,
        amount_usd_micro: '25000000',
        transfer_id: exampleTransferId,
      },
      state: 'sent',
      sent_at: created_at,
      wake_at: null,
      failures: 0,
      last_status: 200,
      last_error: null,
    }),
  },
  errors: ['bad_request'],
};
