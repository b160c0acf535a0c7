import { Alert, Button, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconInfoCircle, IconMailPlus, IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { typed } from '../../components/typed.ts';
import { RowButton } from '../../components/styles.ts';
import type { SignUpInvitation } from '../../api-types.ts';
import { type Column, column } from '../../components/list/DataList.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { When } from '../../components/text.tsx';
import { useAction } from '../action.ts';
import { LinkModal } from './LinkModal.tsx';
import { useOperatorQuery } from '../../queries.ts';
import { PagedList } from '../../components/list/PagedList.tsx';
import './invitations-words.ts';

export function Invitations() {
  const { t } = useTranslation('operator_invitations');
  const [making, { open, close }] = useDisclosure(false);
  const [chosen, setChosen] = useState<SignUpInvitation | null>(null);
  const found = useOperatorQuery('GET /invitations', {});
  const columns: Column<SignUpInvitation>[] = [
    column.plain(t('email'), (row) => row.email),
    column.plain(t('until'), (row) => <When at={row.expires_at} />),
    column.actions((row) => (
      <RowButton onClick={() => setChosen(row)} aria-label={`${t('withdraw')}: ${row.email}`}>
        {t('withdraw')}
      </RowButton>
    )),
  ];
  const { data, error } = found;
  return (
    <>
      <PageTitle title={t('common:nav.invitations')} text={t('text')}>
        <Button leftSection={<IconPlus size={18} />} onClick={open}>
          {t('new')}
        </Button>
      </PageTitle>
      {data && (
        <Alert
          icon={<IconInfoCircle />}
          color={data.sign_up === 'closed' ? 'yellow' : 'fare'}
          variant="light"
          mb="md"
          role="note"
        >
          {t(`mode.${data.sign_up}`)}
        </Alert>
      )}
      <PagedList
        of={{ rows: data?.data, error, retry: () => void found.refetch(), more: null }}
        empty={{ icon: <IconMailPlus />, title: t('none_title'), text: t('none_text') }}
        label={t('common:nav.invitations')}
        columns={columns}
        keyOf={(row) => row.invitation_id}
      />
      {making && <NewInvitation onClose={close} />}
      {chosen !== null && <Withdraw invitation={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function NewInvitation({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operator_invitations');
  const act = useAction();
  const [email, setEmail] = useState('');
  return (
    <LinkModal
      onClose={onClose}
      title={t('new')}
      submit={t('create')}
      make={() => act('POST /invitations', { body: { email } })}
      made={{
        title: t('new'),
        once: t('once_title'),
        text: t('once_text', { email }),
        what: t('common:link'),
      }}
    >
      <TextInput
        label={t('email')}
        description={t('email_hint')}
        type="email"
        autoComplete="off"
        required
        data-autofocus
        {...typed(email, setEmail)}
      />
    </LinkModal>
  );
}

function Withdraw({ invitation, onClose }: { invitation: SignUpInvitation; onClose: () => void }) {
  const { t } = useTranslation('operator_invitations');
  const { invitation_id, email } = invitation;
  const act = useAction();
  const submit = async () => {
    const params = { invitation_id };
    await act('DELETE /invitations/:invitation_id', { params }, t('withdrawn'));
    onClose();
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('withdraw_title', { email })}
      submit={t('withdraw')}
      danger
      onSubmit={submit}
    >
      <Text size="sm">{t('withdraw_text')}</Text>
    </FormModal>
  );
}
