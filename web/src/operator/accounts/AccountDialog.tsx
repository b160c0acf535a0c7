import type { OperatorAccount } from '../../api-types.ts';
import type { Action } from './account-actions.ts';
import { Booking } from './Booking.tsx';
import { InviteInto } from './InviteInto.tsx';
import { PriceDialog } from './PriceDialog.tsx';
import { SwitchDialog } from './SwitchDialog.tsx';

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
