import { Anchor, Checkbox, Text, TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { ApiFailure } from '../../api.ts';
import type { OperatorDeposit } from '../../api-types.ts';
import { Facts } from '../../components/Facts.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { Usd, When } from '../../components/text.tsx';
import { Transaction } from '../../components/Transaction.tsx';
import { useFields } from '../../components/Form.tsx';
import { useAction } from '../action.ts';
import './deposits-texts.ts';
import { ReasonInput } from '../inputs.ts';
import { useTranslation } from '../../i18n.ts';

interface DepositProps {
  deposit: OperatorDeposit;
  onClose: () => void;
}

/** Credits a deposit that was not credited by itself. */
export function CreditDialog({ deposit, onClose }: DepositProps) {
  const { t } = useTranslation('operator_deposits');
  const act = useAction();
  const { account_id, why } = deposit;
  // For all other deposits the operator has to name the account: it is unknown, or naming it
  // confirms the token and the amount.
  const isOwners = account_id !== null && (why === 'review' || why === 'dust');
  const { values, field, tick } = useFields({ account: '', reason: '', isOther: false });
  const account = values.account.trim();
  const reason = values.reason.trim();
  // True if the service refused because a booking by hand already names the transaction.
  const [isBooked, setBooked] = useState(false);
  const submit = () => {
    const body = {
      ...(!isOwners && { account }),
      ...(reason !== '' && { reason }),
      allows_booked: values.isOther,
    };
    const params = { deposit_id: deposit.deposit_id };
    return act('POST /deposits/:deposit_id/credit', { params, body }, t('credited_now')).catch(
      (error: unknown) => {
        setBooked(error instanceof ApiFailure && error.reason === 'deposit_booked');
        throw error;
      },
    );
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('credit_title')}
      submit={t('credit')}
      disabled={!isOwners && account === ''}
      onSubmit={submit}
    >
      <DepositFacts deposit={deposit} />
      {why !== null && <Text size="sm">{t(`credit_text.${why}`)}</Text>}
      {!isOwners && (
        <TextInput
          label={t('account_wanted')}
          required
          maxLength={254}
          autoComplete="off"
          data-autofocus
          {...field('account')}
        />
      )}
      <Reason {...field('reason')} />
      {isBooked && <Checkbox label={t('other_payment')} {...tick('isOther')} />}
    </FormModal>
  );
}

/** Ignores a held deposit. */
export function IgnoreDialog({ deposit, onClose }: DepositProps) {
  const { t } = useTranslation('operator_deposits');
  const act = useAction();
  const { values, field } = useFields({ reason: '' });
  const reason = values.reason.trim();
  const given = { params: { deposit_id: deposit.deposit_id }, body: { reason } };
  return (
    <FormModal
      onClose={onClose}
      title={t('ignore_title')}
      submit={t('ignore')}
      danger
      disabled={reason === ''}
      onSubmit={() => act('POST /deposits/:deposit_id/ignore', given, t('ignored_now'))}
    >
      <DepositFacts deposit={deposit} />
      <Text size="sm">{t('ignore_text')}</Text>
      <Reason {...field('reason')} required />
    </FormModal>
  );
}

function Reason(props: TextInputProps) {
  const { t } = useTranslation('operator_deposits');
  return <ReasonInput label={t('reason')} description={t('reason_hint')} {...props} />;
}

function DepositFacts({ deposit }: { deposit: OperatorDeposit }) {
  const { t } = useTranslation('operator_deposits');
  const { token, title, account_name, account_email, to_address, address_url } = deposit;
  return (
    <Facts
      rows={[
        [
          t('amount'),
          <span key="amount">
            <Usd micro={deposit.amount_usd_micro} /> · {token} · {title}
          </span>,
        ],
        [t('common:account'), account_name ?? account_email ?? t('no_account')],
        [t('common:address'), <Address key="to" of={to_address} url={address_url} />],
        [t('from_address'), <Address key="from" of={deposit.from_address} url={null} />],
        [t('common:transaction'), <Transaction key="hash" of={deposit} />],
        [t('block'), <When key="block" at={deposit.block_at} />],
      ]}
    />
  );
}

function Address({ of, url }: { of: string; url: string | null }) {
  const text = (
    <Text span size="xs" ff="monospace" c="inherit" className="wrap">
      {of}
    </Text>
  );
  if (url === null) return text;
  return (
    <Anchor href={url} target="_blank" rel="noreferrer">
      {text}
    </Anchor>
  );
}
