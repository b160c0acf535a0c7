import type { OperatorRight } from '../rights.ts';

/**
 * Each action of an operator on an account. Those with a `call` only turn something on or off; the
 * others have a form of their own.
 */
export const accountActions = {
  credit: { label: 'credit', right: 'money' },
  correct: { label: 'correct_title', right: 'money' },
  price: { label: 'change_price', right: 'money' },
  invite: { label: 'invite', right: 'accounts', ofOperators: 'own' },
  suspend: {
    label: 'suspend',
    right: 'accounts',
    ofOperators: 'own',
    call: ['POST /accounts/:account_id/suspend', {}],
    done: 'suspended',
    danger: true,
  },
  resume: {
    label: 'resume',
    right: 'accounts',
    ofOperators: 'own',
    call: ['POST /accounts/:account_id/resume', {}],
    done: 'resumed',
  },
  operator: {
    label: 'make_operator',
    right: 'own',
    call: ['PUT /accounts/:account_id/operator', { body: { is_operator: true } }],
    done: 'operator_set',
    danger: true,
  },
  unoperator: {
    label: 'unmake_operator',
    right: 'own',
    call: ['PUT /accounts/:account_id/operator', { body: { is_operator: false } }],
    done: 'unoperator_set',
    danger: true,
  },
  stop_keys: {
    label: 'stop_keys',
    right: 'accounts',
    ofOperators: 'own',
    call: ['PUT /accounts/:account_id/keys-by-api', { body: { keys_by_api: false } }],
    done: 'keys_stopped',
    danger: true,
  },
  allow_keys: {
    label: 'allow_keys',
    right: 'accounts',
    ofOperators: 'own',
    call: ['PUT /accounts/:account_id/keys-by-api', { body: { keys_by_api: true } }],
    done: 'keys_allowed',
  },
} as const satisfies Record<string, AccountAction>;

interface AccountAction {
  label: string;
  right: OperatorRight;
  /** The right for it at an account whose people run the service, if that is another one. */
  ofOperators?: OperatorRight;
  call?: readonly [route: string, given: object];
  done?: string;
  danger?: true;
}

type Actions = typeof accountActions;
export type Action = keyof Actions;
/** The actions that turn something on or off. */
export type Switch = {
  [Name in Action]: Actions[Name] extends { call: unknown } ? Name : never;
}[Action];

/** The right for an action on this account. */
export function rightFor(action: Action, { is_operator }: { is_operator: boolean }): OperatorRight {
  const { right, ofOperators = right }: AccountAction = accountActions[action];
  return is_operator ? ofOperators : right;
}
