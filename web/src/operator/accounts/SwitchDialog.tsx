import { Text } from '@mantine/core';
import { FormModal } from '../../components/FormModal.tsx';
import type { OperatorAccount } from '../../api-types.ts';
import { accountActions, type Switch } from './account-actions.ts';
import './account-texts.ts';
import { useAction } from '../action.ts';
import { useTranslation } from '../../i18n.ts';

/** A setting that is on or off, with a confirmation. */
export function SwitchDialog(props: {
  action: Switch;
  account: OperatorAccount;
  onClose: () => void;
}) {
  const { t } = useTranslation('operator_account');
  const { action, account, onClose } = props;
  const { label, done, ...how } = accountActions[action];
  const [route, given] = how.call;
  const act = useAction();
  const params = { account_id: account.account_id };
  return (
    <FormModal
      onClose={onClose}
      title={t(`${action}_title`)}
      submit={t(label)}
      danger={'danger' in how}
      onSubmit={() => act(route, { params, ...given }, t(done))}
    >
      <Text fw={600} className="wrap">
        {account.email}
      </Text>
      <Text size="sm">{t(`${action}_text`)}</Text>
    </FormModal>
  );
}
