import type { OperatorAccount } from '../../api-types.ts';
import { Booking } from './Booking.tsx';
import { InviteInto } from './InviteInto.tsx';
import { PriceDialog } from './PriceDialog.tsx';
import { SwitchDialog } from './SwitchDialog.tsx';

export type Action =
  | 'credit'
  | 'correct'
  | 'price'
  | 'invite'
  | 'suspend'
  | 'resume'
  | 'operator'
  | 'unoperator'
  | 'stop_keys'
  | 'allow_keys';

/** The actions of an operator on an account, one at a time. */
export function AccountDialog(props: {
  action: Action;
  account: OperatorAccount;
  onClose: () => void;
}) {
  const { action, account, onClose } = props;
  const given = { account, onClose };
  if (action === 'credit' || action === 'correct') return <Booking kind={action} {...given} />;
  if (action === 'price') return <PriceDialog {...given} />;
  if (action === 'invite') return <InviteInto {...given} />;
  return <SwitchDialog action={action} {...given} />;
}
