import { exampleCard } from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** The calls that manage an account's keys. */

const tag = 'Keys';

const exampleKey = {
  key_id: exampleCard.key_id,
  name: 'Customer 42',
  hint: 'fbx_ab…wxyz',
  scope: 'spend',
  state: 'active',
  monthly_limit_usd_micro: '25000000',
  spent_usd_micro: '0',
  reserved_usd_micro: '0',
  resets_at: '2026-04-01T00:00:00.000Z',
  rpm: 60,
  open_jobs: 5,
  open_requests: 0,
  models: null,
  created_at: '2026-03-01T12:00:00.000Z',
  created_by: '0199b39f-8d31-7b52-91c0-6e7a2f4b5c90',
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
};

export const createOwnKey: RouteDocs = {
  operationId: 'createOwnKey',
  tag,
  summary: 'Create a key',
  description:
    'Creates a key of scope `spend`. Its secret is in this reply only. There is no ' +
    '`Idempotency-Key`, because a secret cannot be repeated: if the reply is lost, find the key ' +
    'in the list by its name, revoke it and create another one.',
  body: {
    description:
      "Its name and limits. Where a limit is null or left out, the operator's or the service's own " +
      'limit applies, if there is one.',
    examples: one({
      name: 'Customer 42',
      monthly_limit_usd_micro: '25000000',
      rpm: 60,
      open_jobs: 5,
    }),
  },
  replies: {
    201: {
      description: 'The key, with its secret.',
      examples: one({ key: 'fbx_abCDEFGHIJKLMNOPQRSTUVWXYZ01234567wxyz', ...exampleKey }),
    },
  },
  errors: ['bad_request', 'payload_too_large', 'unsupported_media_type'],
};

export const listOwnKeys: RouteDocs = {
  operationId: 'listOwnKeys',
  tag,
  summary: 'List the keys',
  description:
    'The keys of the account, newest first, made by people or by this API. The key of the studio ' +
    'on the web pages is not listed.',
  replies: {
    200: { description: 'One page.', examples: one({ data: [exampleKey], next_cursor: null }) },
  },
  errors: ['bad_request'],
};

export const readOwnKey: RouteDocs = {
  operationId: 'readOwnKey',
  tag,
  summary: 'Read a key',
  description: 'A key of the account, also a revoked one, with its spending of this month.',
  replies: { 200: { description: 'The key.', examples: one(exampleKey) } },
  errors: ['bad_request', 'not_found'],
};

export const changeOwnKey: RouteDocs = {
  operationId: 'changeOwnKey',
  tag,
  summary: 'Change a key',
  description:
    'The key may also be one that a person made in the dashboard. Null removes a limit, and a ' +
    'field that is left out stays. A change applies from the next call of the key on. A limit that the ' +
    'operator has set can only be lowered. Keys of scope `keys` cannot be changed: 403.',
  body: {
    description: 'The fields to change.',
    examples: one({ monthly_limit_usd_micro: '50000000', rpm: null }),
  },
  replies: {
    200: {
      description: 'The key.',
      examples: one({ ...exampleKey, monthly_limit_usd_micro: '50000000', rpm: null }),
    },
  },
  errors: ['bad_request', 'not_found', 'payload_too_large', 'unsupported_media_type'],
};

export const revokeOwnKey: RouteDocs = {
  operationId: 'revokeOwnKey',
  tag,
  summary: 'Revoke a key',
  description:
    'Refuses the key for good, from its next call on; its open jobs continue. The key may also be ' +
    'one that a person made in the dashboard. A repeat changes nothing. The call has no body. Keys of scope `keys` cannot be revoked here: 403.',
  replies: {
    200: {
      description: 'The key.',
      examples: one({ ...exampleKey, state: 'revoked', revoked_at: '2026-03-02T08:00:00.000Z' }),
    },
  },
  errors: ['bad_request', 'not_found'],
};
