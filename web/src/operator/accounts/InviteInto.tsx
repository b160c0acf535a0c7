import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AccountDetail } from '../../api-types.ts';
import { FormModal } from '../../components/FormModal.tsx';
import './account-words.ts';
import { useAction } from '../action.ts';
import { LinkMade } from './LinkMade.tsx';

const roles = ['owner', 'developer', 'billing', 'read_only'] as const;

export function InviteInto({ account, onClose }: { account: AccountDetail; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const [email, setEmail] = useState(account.people.length === 0 ? account.email : '');
  const [role, setRole] = useState<(typeof roles)[number]>('owner');
  const [link, setLink] = useState<string | null>(null);
  const submit = async () => {
    const params = { account_id: account.account_id };
    const given = { params, body: { email, role } };
    setLink((await act('POST /accounts/:account_id/invitations', given)).link);
  };
  if (link !== null) {
    return (
      <LinkMade
        title={t('invite_title')}
        once={t('once_title')}
        text={t('invite_text', { email })}
        link={link}
        what={t('common:link')}
        onClose={onClose}
      />
    );
  }
  return (
    <FormModal
      onClose={onClose}
      title={t('invite_title')}
      submit={t('invite_make')}
      onSubmit={submit}
    >
      <TextInput
        label={t('invite_email')}
        type="email"
        autoComplete="off"
        required
        data-autofocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <Select
        label={t('role')}
        data={roles.map((value) => ({ value, label: t(`common:role.${value}`) }))}
        value={role}
        allowDeselect={false}
        onChange={(value) => setRole(roles.find((each) => each === value) ?? 'owner')}
      />
    </FormModal>
  );
}
