import { logReasonMax, noteMax, reasonMax, referenceMax } from '../../core/account/booking.ts';
import { operatorRoles } from '../../core/account/operator-role.ts';
import { scopes } from '../../core/account/scope.ts';
import { bookedSources } from '../../core/account/source.ts';
import { nameMax } from '../../core/account/name.ts';
import { voucherNoteMax, vouchersMax } from '../../core/account/voucher.ts';
import { accountFates } from '../../operations/accounts/erase-person.ts';
import { statusNoteMax } from '../../operations/line.ts';
import * as s from './schema.ts';

/** Bodies of the operator's calls, which are also the options of the operator's commands. */

export const NewReference = s.line(
  referenceMax,
  'The name of the payment or correction outside Farebox.',
);
export const NewReason = s.line(reasonMax, 'Shown in the statement.');

export const NewCredit = {
  amount_usd_micro: s.amount(),
  reference: NewReference,
  source: s.choice(bookedSources, 'Where the money came from.'),
  expires_at: s.optional(s.nullable(s.time('For a bonus: when its unspent rest is taken back.'))),
  note: s.optional(s.line(noteMax, "For the operator's log.")),
};

export const NewAdjustment = {
  amount_usd_micro: s.signedMicroUsd('The correction; a negative amount takes money.'),
  reference: NewReference,
  reason: NewReason,
  allows_debt: s.optional(
    s.boolean(
      'True: what the available balance does not cover becomes a debt. False: the call is refused.',
    ),
  ),
};

export const NewRefund = {
  amount_usd_micro: s.optional(
    s.nullable(s.amount('If left out: all that is left of the charge.')),
  ),
  reference: NewReference,
  reason: NewReason,
};

export const NewVouchers = {
  amount_usd_micro: s.amount(),
  count: s.integer(undefined, { minimum: 1, maximum: vouchersMax }),
  note: s.optional(s.nullable(s.line(voucherNoteMax))),
  expires_at: s.optional(s.nullable(s.time())),
};

export const OperatorRole = s.named(
  'OperatorRole',
  s.choice(operatorRoles, '`owner`: all rights; `support`: no money and no prices; `read_only`.'),
);

export const AccountFate = s.choice(
  accountFates,
  'For accounts that have no other people. `close`: their keys, files and names go, and the content of all their requests; `leave`: they stay as they are.',
);

export const Scope = s.named('Scope', s.choice(scopes));
export const NewOperatorKey = {
  name: s.line(nameMax),
  scopes: s.list(Scope, undefined, { minItems: 1, maxItems: scopes.length }),
};

export const outcomes = ['ran', 'did_not_run'] as const;
export const LogReason = s.optional(s.nullable(s.line(logReasonMax, "For the operator's log.")));

/** US dollars; a text keeps what a number would round. */
const Dollars = s.either([s.number(), s.text(undefined, { maxLength: 30 })] as const);
const words =
  'US dollars of a unit. If it depends on the resolution: by resolution, with `usd` for the others. ' +
  'For text: `input`, `output`, and if they differ `cached_input` and `cache_write`, of 1M tokens. ' +
  '`unit` may stand beside them.';
const others = [s.text(undefined, { maxLength: 30 }), s.record(Dollars)] as const;
export const SoldPrice = s.either([s.number(), ...others], words);
/** Null: as in the file. */
export const NewPrice = s.either([s.nullable(s.number()), ...others], words);

export const NewRoutes = s.list(
  s.form({
    name: s.text('The name of the upstream.', { minLength: 1, maxLength: 100 }),
    model: s.optional(s.text('If only one of several routes there is meant.', { maxLength: 2000 })),
    share: s.optional(
      s.nullable(
        s.number(
          'Per cent of new requests that try it first; all add up to 100. Null: the order decides.',
          { minimum: 0, maximum: 100 },
        ),
      ),
    ),
  }),
  'The routes of the row in the order in which they are tried; others are not used. Null: as in the file.',
  { minItems: 1, maxItems: 10 },
);

export const SaleStatus = s.choice(['live', 'stopped'], '`stopped`: none of its requests start.');
/** `status_note` can be removed with null. */
export const NewSale = {
  status: s.optional(SaleStatus),
  status_note: s.optional(s.nullable(s.line(statusNoteMax, 'Why it is stopped, for customers.'))),
  price: s.optional(NewPrice),
  upstreams: s.optional(s.nullable(NewRoutes)),
  reason: LogReason,
};

export const NewFinding = {
  outcome: s.choice(outcomes),
  cost_usd_micro: s.optional(s.nullable(s.amountFromZero('Cost of each request, if it ran.'))),
  note: s.optional(s.nullable(s.line(noteMax))),
};
export const LeftAttempt = s.integer(undefined, { minimum: 1, maximum: 2 ** 31 - 1 });

export const depositStates = ['held', 'credited', 'ignored'] as const;
const whys = ['unconfirmed', 'unmatched', 'review', 'dust', 'token', 'operator'] as const;
export const DepositWhy = s.named('OperatorDepositWhy', s.choice(whys, 'Why it is not credited.'));
export const DepositReason = s.line(reasonMax, "For the operator's log.");
export const NewDepositCredit = {
  account: s.optional(
    s.text(
      'The e-mail address or id of the account; needed unless the deposit has an `account_id` ' +
        'and its `why` is `review` or `dust`.',
      { maxLength: 254 },
    ),
  ),
  allows_booked: s.optional(s.boolean('Credits it even if another booking names its hash.')),
  reason: s.optional(DepositReason),
};

export function height(description: string) {
  return s.integer(description, { minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
}
