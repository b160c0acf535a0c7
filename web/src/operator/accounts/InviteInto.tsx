import { Select } from '@mantine/core';
import { useFields } from '../../components/Form.tsx';
import type { OperatorAccount, Role } from '../../api-types.ts';
import { allRoles } from '../../dashboard/team/team.ts';
import './account-texts.ts';
import { useAction } from '../action.ts';
import { LinkModal } from './LinkModal.tsx';
import { EmailInput } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

export function InviteInto(props: { account: OperatorAccount; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const { account, onClose } = props;
  const { values, field } = useFields({
    email: account.people.length === 0 ? account.email : '',
    role: 'owner' as Role,
  });
  const given = { params: { account_id: account.account_id }, body: values };
  return (
    <LinkModal
      onClose={onClose}
      title={t('invite_title')}
      submit={t('invite_make')}
      make={() => act('POST /accounts/:account_id/invitations', given)}
      made={{
        title: t('invite_title'),
        once: t('once_title'),
        text: t('invite_text', values),
        what: t('common:link'),
      }}
    >
      <EmailInput label={t('invite_email')} data-autofocus {...field('email')} />
      <Select
        label={t('role')}
        data={allRoles.map((value) => ({ value, label: t(`common:role.${value}`) }))}
        allowDeselect={false}
        {...field('role')}
      />
    </LinkModal>
  );
}
