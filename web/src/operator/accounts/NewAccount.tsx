import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { typed } from '../../components/typed.ts';
import { operatorApi, type OperatorCalls } from '../../api.ts';
import { Modal } from '../../components/Dialog.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { isAmount, MoneyInput } from '../../components/MoneyInput.tsx';
import { ShownOnce } from '../../components/ShownOnce.tsx';
import { parseUsd } from '../../money.ts';
import './accounts-words.ts';

export function NewAccount({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operator_accounts');
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [credit, setCredit] = useState('');
  const [reference, setReference] = useState('');
  const [invite, setInvite] = useState(true);
  const [made, setMade] = useState<OperatorCalls['POST /accounts']['reply'] | null>(null);
  const hasCredit = credit.trim() !== '';
  const submit = async () => {
    const body = {
      email,
      invite,
      ...(hasCredit && { credit_usd_micro: String(parseUsd(credit)), reference }),
    };
    setMade(await operatorApi('POST /accounts', { body }));
    await queries.invalidateQueries({ queryKey: ['operator'] });
  };
  if (made !== null) {
    return (
      <Modal opened onClose={onClose} title={made.email}>
        <Stack>
          {made.invitation_link !== null && (
            <ShownOnce
              title={t('link_title')}
              text={t('link_text', { email: made.email })}
              secret={made.invitation_link}
              what={t('common:link')}
            />
          )}
          <Group justify="flex-end">
            <Button component={Link} to={`/operator/accounts/${made.account_id}`}>
              {t('open')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    );
  }
  return (
    <FormModal
      onClose={onClose}
      title={t('new_title')}
      submit={t('create')}
      disabled={hasCredit && (!isAmount(credit) || reference.trim() === '')}
      onSubmit={submit}
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
      <MoneyInput
        label={t('credit')}
        description={t('credit_hint')}
        value={credit}
        onChange={setCredit}
      />
      {hasCredit && (
        <TextInput
          label={t('reference')}
          description={t('reference_hint')}
          required
          maxLength={255}
          {...typed(reference, setReference)}
        />
      )}
      <Checkbox
        label={t('invite')}
        checked={invite}
        onChange={(event) => setInvite(event.currentTarget.checked)}
      />
    </FormModal>
  );
}
