import { Checkbox, Radio, Select, Stack, Text } from '@mantine/core';
import type { AccountPerson, OperatorRole, Role } from '../../api-types.ts';
import { useFields } from '../../components/Form.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { EmailInput, NameInput } from '../../components/inputs.ts';
import { allRoles } from '../../dashboard/team/team.ts';
import { useAction } from '../action.ts';
import { LinkModal } from './LinkModal.tsx';
import { useTranslation } from '../../i18n.ts';
import './account-texts.ts';
import '../rights-texts.ts';

/** Acts of an operator on a person, in all their accounts. */
export const personActions = [
  'rename',
  'email',
  'role',
  'reset',
  'sign_out',
  'two_factors',
  'remove',
  'erase',
] as const;
export type PersonAction = (typeof personActions)[number];
export const operatorRoles: OperatorRole[] = ['owner', 'support', 'read_only'];

interface Props {
  account_id: string;
  ofOperators: boolean;
  person: AccountPerson;
  onClose: () => void;
}

export function PersonDialog({ act, ...props }: Props & { act: PersonAction }) {
  if (act === 'rename') return <Rename {...props} />;
  if (act === 'email') return <NewEmail {...props} />;
  if (act === 'role') return <NewRole {...props} />;
  if (act === 'reset') return <ResetLink {...props} />;
  if (act === 'remove') return <Remove {...props} />;
  if (act === 'erase') return <Erase {...props} />;
  return <Ends {...props} act={act} />;
}

function Rename({ person, onClose }: Props) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const { values, field } = useFields({ name: person.name });
  const params = { person_id: person.person_id };
  return (
    <FormModal
      onClose={onClose}
      title={t('rename_title', { email: person.email })}
      submit={t('common:save')}
      onSubmit={() => act('PATCH /people/:person_id', { params, body: values }, t('renamed'))}
    >
      <NameInput label={t('name')} data-autofocus {...field('name')} />
    </FormModal>
  );
}

/** For a user who cannot confirm a new address by mail: the operator confirms it instead. */
function NewEmail({ person, onClose }: Props) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const { values, field } = useFields({ email: '' });
  const given = { params: { person_id: person.person_id }, body: values };
  return (
    <FormModal
      onClose={onClose}
      title={t('email_title', { email: person.email })}
      submit={t('email_submit')}
      onSubmit={() => act('PATCH /people/:person_id', given, t('email_changed', values))}
    >
      <Stack>
        <Text size="sm">{t('email_text')}</Text>
        <EmailInput label={t('new_email')} {...field('email')} />
      </Stack>
    </FormModal>
  );
}

function NewRole({ person, account_id, ofOperators, onClose }: Props) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const { values, field } = useFields({
    role: person.role,
    operator_role: person.operator_role ?? 'read_only',
  });
  const { role, operator_role } = values;
  const body = { account_id, ...(ofOperators ? { operator_role } : { role }) };
  const params = { person_id: person.person_id };
  return (
    <FormModal
      onClose={onClose}
      title={t('role_title', { email: person.email })}
      submit={t('common:save')}
      onSubmit={() => act('PATCH /people/:person_id', { params, body }, t('role_set'))}
    >
      {ofOperators ? (
        <OperatorRoleSelect {...field('operator_role')} />
      ) : (
        <RoleSelect {...field('role')} />
      )}
    </FormModal>
  );
}

/** The role in an account. */
export function RoleSelect(props: { value: Role; onChange: (role: Role | null) => void }) {
  const { t } = useTranslation('operator_account');
  return (
    <Select
      label={t('role')}
      data={allRoles.map((value) => ({ value, label: t(`common:role.${value}`) }))}
      allowDeselect={false}
      {...props}
    />
  );
}

/** The role on the console, with what it may do. */
export function OperatorRoleSelect(props: {
  value: OperatorRole;
  onChange: (role: OperatorRole | null) => void;
}) {
  const { t } = useTranslation('operator_account');
  return (
    <Select
      label={t('operator_role')}
      description={t(`operator_rights:role_text.${props.value}`)}
      data={operatorRoles.map((value) => ({ value, label: t(`operator_rights:role.${value}`) }))}
      allowDeselect={false}
      {...props}
    />
  );
}

function ResetLink({ person, onClose }: Props) {
  const { t } = useTranslation('operator_account');
  const { email, person_id } = person;
  const act = useAction();
  return (
    <LinkModal
      onClose={onClose}
      title={t('reset_title', { email })}
      submit={t('reset_make')}
      make={() => act('POST /people/:person_id/reset-link', { params: { person_id } })}
      made={{
        title: t('reset_link'),
        once: t('once_title'),
        text: t('reset_made', { email }),
        what: t('reset_link'),
      }}
    >
      <Text size="sm">{t('reset_text')}</Text>
    </LinkModal>
  );
}

const ends = {
  sign_out: 'POST /people/:person_id/sign-out',
  two_factors: 'POST /people/:person_id/reset-two-factors',
} as const;

function Ends({ act: name, person, onClose }: Props & { act: keyof typeof ends }) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const params = { person_id: person.person_id };
  return (
    <FormModal
      onClose={onClose}
      title={t(`ends.${name}.title`, { email: person.email })}
      submit={t(`act.${name}`)}
      danger
      onSubmit={() => act(ends[name], { params }, t(`ends.${name}.done`))}
    >
      <Text size="sm">{t(`ends.${name}.text`)}</Text>
    </FormModal>
  );
}

function Remove({ person, onClose }: Props) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const { values, tick } = useFields({ leaves: false });
  const given = {
    params: { person_id: person.person_id },
    query: values.leaves ? { leaves_accounts: 'true' as const } : {},
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('remove_title', { email: person.email })}
      submit={t('act.remove')}
      danger
      onSubmit={() => act('DELETE /people/:person_id', given, t('removed'))}
    >
      <Text size="sm">{t('remove_text')}</Text>
      <Checkbox label={t('leaves')} description={t('leaves_text')} {...tick('leaves')} />
    </FormModal>
  );
}

function Erase({ person, onClose }: Props) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const { values, field } = useFields({ fate: 'refuse' as 'refuse' | 'close' | 'leave' });
  const given = {
    params: { person_id: person.person_id },
    body: values.fate === 'refuse' ? {} : { accounts: values.fate },
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('erase_title', { email: person.email })}
      submit={t('act.erase')}
      danger
      onSubmit={() => act('POST /people/:person_id/erase', given, t('erased'))}
    >
      <Stack>
        <Text size="sm">{t('erase_text')}</Text>
        <Radio.Group label={t('erase_alone')} {...field('fate')}>
          <Stack gap="xs" mt="xs">
            {(['refuse', 'close', 'leave'] as const).map((value) => (
              <Radio
                key={value}
                value={value}
                label={t(`fate.${value}`)}
                description={t(`fate_text.${value}`)}
              />
            ))}
          </Stack>
        </Radio.Group>
      </Stack>
    </FormModal>
  );
}
