import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { typed } from '../../components/typed.ts';
import type { OperatorAccount } from '../../api-types.ts';
import './account-words.ts';
import { useAction } from '../action.ts';
import { LinkModal } from './LinkModal.tsx';

const roles = ['owner', 'developer', 'billing', 'read_only'] as const;

export function InviteInto({
  account,
  onClose,
}: {
  account: OperatorAccount;
  onClose: () => void;
}) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const [email, setEmail] = useState(account.people.length === 0 ? account.email : '');
  const [role, setRole] = useState<(typeof roles)[number]>('owner');
  const make = () => {
    const params = { account_id: account.account_id };
    return act('POST /accounts/:account_id/invitations', { params, body: { email, role } });
  };
  return (
    <LinkModal
      onClose={onClose}
      title={t('invite_title')}
      submit={t('invite_make')}
      make={make}
      made={{
        title: t('invite_title'),
        once: t('once_title'),
        text: t('invite_text', { email }),
        what: t('common:link'),
      }}
    >
      <TextInput
        label={t('invite_email')}
        type="email"
        autoComplete="off"
        required
        data-autofocus
        {...typed(email, setEmail)}
      />
      <Select
        label={t('role')}
        data={roles.map((value) => ({ value, label: t(`common:role.${value}`) }))}
        value={role}
        allowDeselect={false}
        onChange={(value) => setRole(roles.find((each) => each === value) ?? 'owner')}
      />
    </LinkModal>
  );
}
