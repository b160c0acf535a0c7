import { Anchor, Checkbox, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiFailure } from '../../api.ts';
import type { OperatorDeposit } from '../../api-types.ts';
import { Facts } from '../../components/Facts.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { Usd, When } from '../../components/text.tsx';
import { Transaction } from '../../components/Transaction.tsx';
import { typed } from '../../components/typed.ts';
import { useAction } from '../action.ts';
import './deposits-words.ts';

interface Of {
  deposit: OperatorDeposit;
  onClose: () => void;
}

const reasonMax = 1000;

/** Credits a deposit that was not credited by itself. */
export function CreditDialog({ deposit, onClose }: Of) {
  const { t } = useTranslation('operator_deposits');
  const act = useAction();
  const { account_id, why } = deposit;
  // For all other deposits the operator has to name the account: it is unknown, or naming it
  // confirms the token and the amount.
  const isOwners = account_id !== null && (why === 'review' || why === 'dust');
  const [account, setAccount] = useState('');
  const [reason, setReason] = useState('');
  // True if the service refused because a booking by hand already names the transaction.
  const [isBooked, setBooked] = useState(false);
  const [isOther, setOther] = useState(false);
  const submit = async () => {
    const body = {
      ...(!isOwners && { account: account.trim() }),
      ...(reason.trim() !== '' && { reason: reason.trim() }),
      allows_booked: isOther,
    };
    const params = { deposit_id: deposit.deposit_id };
    await act('POST /chain-deposits/:deposit_id/credit', { params, body }, t('credited_now')).catch(
      (error: unknown) => {
        setBooked(error instanceof ApiFailure && error.reason === 'deposit_booked');
        throw error;
      },
    );
    onClose();
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('credit_title')}
      submit={t('credit')}
      disabled={!isOwners && account.trim() === ''}
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
          {...typed(account, setAccount)}
        />
      )}
      <Reason value={reason} onChange={setReason} />
      {isBooked && (
        <Checkbox
          label={t('other_payment')}
          checked={isOther}
          onChange={(event) => setOther(event.currentTarget.checked)}
        />
      )}
    </FormModal>
  );
}

/** Ignores a held deposit. */
export function IgnoreDialog({ deposit, onClose }: Of) {
  const { t } = useTranslation('operator_deposits');
  const act = useAction();
  const [reason, setReason] = useState('');
  const submit = async () => {
    const params = { deposit_id: deposit.deposit_id };
    const body = { reason: reason.trim() };
    await act('POST /chain-deposits/:deposit_id/ignore', { params, body }, t('ignored_now'));
    onClose();
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('ignore_title')}
      submit={t('ignore')}
      danger
      disabled={reason.trim() === ''}
      onSubmit={submit}
    >
      <DepositFacts deposit={deposit} />
      <Text size="sm">{t('ignore_text')}</Text>
      <Reason value={reason} onChange={setReason} required />
    </FormModal>
  );
}

function Reason(props: { value: string; onChange: (value: string) => void; required?: boolean }) {
  const { t } = useTranslation('operator_deposits');
  return (
    <Textarea
      label={t('reason')}
      description={t('reason_hint')}
      required={props.required ?? false}
      maxLength={reasonMax}
      autosize
      minRows={2}
      {...typed(props.value, props.onChange)}
    />
  );
}

function DepositFacts({ deposit }: { deposit: OperatorDeposit }) {
  const { t } = useTranslation('operator_deposits');
  const { token, title, account_email, to_address, address_url } = deposit;
  return (
    <Facts
      rows={[
        [
          t('amount'),
          <span key="amount">
            <Usd micro={deposit.amount_usd_micro} /> · {token} · {title}
          </span>,
        ],
        [t('common:account'), account_email ?? t('no_account')],
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
