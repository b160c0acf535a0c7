import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { FormModal } from '../components/FormModal.tsx';
import type { AccountDetail } from './Account.tsx';
import './account-words.ts';
import { useDeed } from './acting.ts';

const switches = {
  suspend: { path: '/suspend', options: {}, label: 'suspend', done: 'suspended', danger: true },
  resume: { path: '/resume', options: {}, label: 'resume', done: 'resumed', danger: false },
  operator: {
    path: '/operator',
    options: { method: 'PUT', body: { is_operator: true } },
    label: 'make_operator',
    done: 'operator_set',
    danger: true,
  },
  unoperator: {
    path: '/operator',
    options: { method: 'PUT', body: { is_operator: false } },
    label: 'unmake_operator',
    done: 'unoperator_set',
    danger: true,
  },
} as const;

/** What is on or off, asked for once more before it is changed. */
export function SwitchDialog(props: {
  action: keyof typeof switches;
  account: AccountDetail;
  onClose: () => void;
}) {
  const { t } = useTranslation('operator_account');
  const { action, account, onClose } = props;
  const { path, options, label, done, danger } = switches[action];
  const deed = useDeed();
  const submit = async () => {
    await deed(`/accounts/${account.account_id}${path}`, options, t(done));
    onClose();
  };
  return (
    <FormModal
      opened
      onClose={onClose}
      title={t(`${action}_title`)}
      submit={t(label)}
      danger={danger}
      onSubmit={submit}
    >
      <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
        {account.email}
      </Text>
      <Text size="sm">{t(`${action}_text`)}</Text>
    </FormModal>
  );
}
