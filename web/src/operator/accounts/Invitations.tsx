import { Alert, Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconInfoCircle, IconMailPlus, IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useFields } from '../../components/Form.tsx';
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
import './invitations-texts.ts';
import { EmailInput } from '../../components/inputs.ts';
import { useRightProps } from '../rights.ts';
import { useTranslation } from '../../i18n.ts';

interface RowChoice {
  row: SignUpInvitation;
  what: 'renew' | 'withdraw';
}

export function Invitations() {
  const { t } = useTranslation('operator_invitations');
  const actions = useRightProps();
  const [making, { open, close }] = useDisclosure(false);
  const [chosen, setChosen] = useState<RowChoice | null>(null);
  const forget = () => setChosen(null);
  const found = useOperatorQuery('GET /invitations', {});
  const columns: Column<SignUpInvitation>[] = [
    column.plain(t('email'), (row) => row.email),
    column.plain(t('until'), (row) => <When at={row.expires_at} />),
    column.actions((row) => (
      <Group gap="xs" justify="flex-end">
        {(['renew', 'withdraw'] as const).map((what) => (
          <RowButton
            key={what}
            onClick={() => setChosen({ row, what })}
            aria-label={`${t(what)}: ${row.email}`}
            {...actions('accounts')}
          >
            {t(what)}
          </RowButton>
        ))}
      </Group>
    )),
  ];
  const { data, error } = found;
  return (
    <>
      <PageTitle title={t('common:nav.invitations')} text={t('text')}>
        <Button leftSection={<IconPlus size={18} />} onClick={open} {...actions('accounts')}>
          {t('new')}
        </Button>
      </PageTitle>
      <PagedList
        of={{ rows: data?.data, error, retry: () => void found.refetch(), more: null }}
        empty={{ icon: <IconMailPlus />, title: t('none_title'), text: t('none_text') }}
        label={t('common:nav.invitations')}
        columns={columns}
        keyOf={(row) => row.invitation_id}
      />
      {data && (
        <Alert
          icon={<IconInfoCircle />}
          color={data.sign_up === 'closed' ? 'yellow' : 'fare'}
          mt="md"
          role="note"
        >
          {t(`mode.${data.sign_up}`)}
        </Alert>
      )}
      {making && <NewInvitation onClose={close} />}
      {chosen?.what === 'renew' && <Renew invitation={chosen.row} onClose={forget} />}
      {chosen?.what === 'withdraw' && <Withdraw invitation={chosen.row} onClose={forget} />}
    </>
  );
}

function NewInvitation({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operator_invitations');
  const act = useAction();
  const { values, field } = useFields({ email: '' });
  return (
    <LinkModal
      onClose={onClose}
      title={t('new')}
      submit={t('create')}
      make={() => act('POST /invitations', { body: values })}
      made={{
        title: t('new'),
        once: t('once_title'),
        text: t('once_text', values),
        what: t('common:link'),
      }}
    >
      <EmailInput
        label={t('email')}
        description={t('email_hint')}
        data-autofocus
        {...field('email')}
      />
    </LinkModal>
  );
}

/** Only the mark of a link is kept, so it cannot be shown again: another one takes its place. */
function Renew({ invitation, onClose }: { invitation: SignUpInvitation; onClose: () => void }) {
  const { t } = useTranslation('operator_invitations');
  const { invitation_id, email } = invitation;
  const act = useAction();
  const make = async () => {
    const made = await act('POST /invitations', { body: { email } });
    await act('DELETE /invitations/:invitation_id', { params: { invitation_id } });
    return made;
  };
  return (
    <LinkModal
      onClose={onClose}
      title={t('renew_title', { email })}
      submit={t('create')}
      make={make}
      made={{
        title: t('renew_title', { email }),
        once: t('once_title'),
        text: t('once_text', { email }),
        what: t('common:link'),
      }}
    >
      <Text size="sm">{t('renew_text')}</Text>
    </LinkModal>
  );
}

function Withdraw({ invitation, onClose }: { invitation: SignUpInvitation; onClose: () => void }) {
  const { t } = useTranslation('operator_invitations');
  const { invitation_id, email } = invitation;
  const act = useAction();
  const params = { invitation_id };
  return (
    <FormModal
      onClose={onClose}
      title={t('withdraw_title', { email })}
      submit={t('withdraw')}
      danger
      onSubmit={() => act('DELETE /invitations/:invitation_id', { params }, t('withdrawn'))}
    >
      <Text size="sm">{t('withdraw_text')}</Text>
    </FormModal>
  );
}
