import { useFields } from '../../components/Form.tsx';
import type { OperatorAccount, OperatorRole, Role } from '../../api-types.ts';
import './account-texts.ts';
import { useAction } from '../action.ts';
import { LinkModal } from './LinkModal.tsx';
import { OperatorRoleSelect, RoleSelect } from './PersonDialog.tsx';
import { EmailInput } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

export function InviteInto(props: { account: OperatorAccount; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const { account, onClose } = props;
  const { values, field } = useFields({
    email: account.people.length === 0 ? account.email : '',
    role: 'owner' as Role,
    operator_role: 'support' as OperatorRole,
  });
  const { email, role, operator_role } = values;
  const body = { email, ...(account.is_operator ? { operator_role } : { role }) };
  const given = { params: { account_id: account.account_id }, body };
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
      {account.is_operator ? (
        <OperatorRoleSelect {...field('operator_role')} />
      ) : (
        <RoleSelect {...field('role')} />
      )}
    </LinkModal>
  );
}
