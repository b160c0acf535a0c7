import { Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useFields } from '../../components/Form.tsx';
import { Dimmed, RowName, Heading, RowButton, Tag } from '../../components/styles.ts';
import type { OperatorAccount, AccountPerson } from '../../api-types.ts';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { When } from '../../components/text.tsx';
import { useAction } from '../action.ts';
import { LinkModal } from './LinkModal.tsx';
import { EmailInput } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';
import './account-texts.ts';

/** An account's members and open invitations. */
export function AccountPeople(props: { account_id: string; account: OperatorAccount | undefined }) {
  const { t } = useTranslation('operator_account');
  const { account_id, account } = props;
  const [person, setPerson] = useState<AccountPerson | null>(null);
  const [moving, setMoving] = useState<AccountPerson | null>(null);
  const columns: Column<AccountPerson>[] = [
    column.plain(t('person'), (row) => (
      <Stack gap={0}>
        <RowName>{row.name}</RowName>
        <Dimmed fw={400} className="wrap">
          {row.email}
        </Dimmed>
      </Stack>
    )),
    column.plain(t('role'), (row) => (
      <Group gap={6}>
        {t(`common:role.${row.role}`)}
        {row.two_factor_enabled && <Tag>{t('two_factor')}</Tag>}
      </Group>
    )),
    column.plain(t('seen'), (row) =>
      row.seen_at === null ? t('never_seen') : <When at={row.seen_at} />,
    ),
    column.actions((row) => (
      <Group gap={6} justify="flex-end">
        <RowButton onClick={() => setMoving(row)} aria-label={`${t('email_change')}: ${row.email}`}>
          {t('email_change')}
        </RowButton>
        <RowButton onClick={() => setPerson(row)} aria-label={`${t('reset')}: ${row.email}`}>
          {t('reset')}
        </RowButton>
      </Group>
    )),
  ];
  return (
    <section>
      <Heading mb="sm">{t('people')}</Heading>
      {account?.people.length === 0 ? (
        <Dimmed>{t('no_people')}</Dimmed>
      ) : (
        <DataList
          label={t('people')}
          columns={columns}
          rows={account?.people}
          keyOf={(row) => row.person_id}
        />
      )}
      {account?.invitations.map(({ invitation_id, email, role, expires_at }) => (
        <Text key={invitation_id} size="sm" mt="xs" className="wrap">
          {email}
          <Text span c="dimmed">
            {' · '}
            {t('invited', { role: t(`common:role.${role}`) })} <When at={expires_at} brief />
          </Text>
        </Text>
      ))}
      {person !== null && (
        <ResetLink account_id={account_id} person={person} onClose={() => setPerson(null)} />
      )}
      {moving !== null && (
        <NewEmail account_id={account_id} person={moving} onClose={() => setMoving(null)} />
      )}
    </section>
  );
}

/** For a user who cannot confirm a new address by mail: the operator confirms it instead. */
function NewEmail(props: { account_id: string; person: AccountPerson; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const { account_id, person, onClose } = props;
  const act = useAction();
  const { values, field } = useFields({ email: '' });
  const given = { params: { account_id, person_id: person.person_id }, body: values };
  const done = t('email_changed', values);
  return (
    <FormModal
      onClose={onClose}
      title={t('email_title', { email: person.email })}
      submit={t('email_submit')}
      onSubmit={() => act('POST /accounts/:account_id/people/:person_id/email', given, done)}
    >
      <Stack>
        <Text size="sm">{t('email_text')}</Text>
        <EmailInput label={t('new_email')} {...field('email')} />
      </Stack>
    </FormModal>
  );
}

function ResetLink(props: { account_id: string; person: AccountPerson; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const { account_id, person, onClose } = props;
  const { email, person_id } = person;
  const act = useAction();
  const params = { account_id, person_id };
  return (
    <LinkModal
      onClose={onClose}
      title={t('reset_title', { email })}
      submit={t('reset_make')}
      make={() => act('POST /accounts/:account_id/people/:person_id/reset', { params })}
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
