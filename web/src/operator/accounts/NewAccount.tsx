import { Button, Checkbox, Group, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useFields } from '../../components/Form.tsx';
import { operatorApi, type OperatorCalls } from '../../api.ts';
import { Modal } from '../../components/Dialog.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { isAmount, MoneyInput } from '../../components/MoneyInput.tsx';
import { ShownOnce } from '../../components/ShownOnce.tsx';
import { parseUsd } from '../../money.ts';
import './accounts-texts.ts';
import { EmailInput } from '../../components/inputs.ts';
import { ReferenceInput } from '../inputs.ts';
import { useTranslation } from '../../i18n.ts';

export function NewAccount({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operator_accounts');
  const queries = useQueryClient();
  const { values, field, tick } = useFields({ email: '', credit: '', reference: '', invite: true });
  const { email, credit, reference, invite } = values;
  const hasCredit = credit.trim() !== '';
  const submit = async () => {
    const body = {
      email,
      invite,
      ...(hasCredit && { credit_usd_micro: String(parseUsd(credit)), reference }),
    };
    const made = await operatorApi('POST /accounts', { body });
    await queries.invalidateQueries({ queryKey: ['operator'] });
    return made;
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('new_title')}
      submit={t('create')}
      disabled={hasCredit && (!isAmount(credit) || reference.trim() === '')}
      onSubmit={submit}
      made={(made) => <Made made={made} onClose={onClose} />}
    >
      <EmailInput
        label={t('email')}
        description={t('email_hint')}
        data-autofocus
        {...field('email')}
      />
      <MoneyInput label={t('credit')} description={t('credit_hint')} {...field('credit')} />
      {hasCredit && (
        <ReferenceInput
          label={t('reference')}
          description={t('reference_hint')}
          {...field('reference')}
        />
      )}
      <Checkbox label={t('invite')} {...tick('invite')} />
    </FormModal>
  );
}

function Made(props: { made: OperatorCalls['POST /accounts']['reply']; onClose: () => void }) {
  const { t } = useTranslation('operator_accounts');
  const { email, account_id, invitation_link } = props.made;
  return (
    <Modal opened onClose={props.onClose} title={email}>
      <Stack>
        {invitation_link !== null && (
          <ShownOnce
            title={t('link_title')}
            text={t('link_text', { email })}
            secret={invitation_link}
            what={t('common:link')}
          />
        )}
        <Group justify="flex-end">
          <Button component={Link} to={`/operator/accounts/${account_id}`}>
            {t('open')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
