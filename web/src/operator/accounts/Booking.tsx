import { Checkbox, Select, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useTranslation } from '../../i18n.ts';
import { DateField } from '../../components/date/DateField.tsx';
import { dayOfDate } from '../../components/date/days.ts';
import { useFields } from '../../components/Form.tsx';
import { Note } from '../../components/styles.ts';
import { useMoment } from '../../components/text.tsx';
import type { OperatorCalls } from '../../api.ts';
import type { Booking as Booked, OperatorAccount } from '../../api-types.ts';
import { FormModal } from '../../components/FormModal.tsx';
import { isAmount, MoneyInput } from '../../components/MoneyInput.tsx';
import { formatUsd, parseUsd } from '../../money.ts';
import './account-texts.ts';
import { useAction } from '../action.ts';
import { useOperatorQuery } from '../../queries.ts';
import { ReferenceInput, ReasonInput } from '../inputs.ts';

type Source = NonNullable<OperatorCalls['POST /accounts/:account_id/credits']['body']['source']>;
const bookedSources: readonly Source[] = ['paid', 'bonus', 'refund'];

/**
 * The form for a credit or a correction. While a reference is typed, shows its earlier bookings.
 */
export function Booking(props: {
  kind: 'credit' | 'correct';
  account: OperatorAccount;
  onClose: () => void;
}) {
  const { t } = useTranslation('operator_account');
  const { kind, account, onClose } = props;
  const act = useAction();
  const { values, field, tick } = useFields({
    amount: '',
    reference: '',
    reason: '',
    note: '',
    source: 'paid' as Source,
    lastDay: '',
    allows_debt: false,
  });
  const { amount, reference, reason, note, source, lastDay, allows_debt } = values;
  const isCredit = kind === 'credit';
  const allows = isCredit ? 'above_zero' : 'change';
  const isComplete =
    isAmount(amount, allows) && reference.trim() !== '' && (isCredit || reason.trim() !== '');
  const submit = () => {
    const booking = { amount_usd_micro: String(parseUsd(amount)), reference };
    const params = { account_id: account.account_id };
    const done = ({ replayed, available_usd_micro }: Booked) => {
      const shown = `$${formatUsd(available_usd_micro)}`;
      return t(replayed ? 'replayed' : 'booked', { amount: shown });
    };
    if (isCredit) {
      const about = note.trim() === '' ? {} : { note: note.trim() };
      const body = { ...booking, source, expires_at: endOf(source, lastDay), ...about };
      return act('POST /accounts/:account_id/credits', { params, body }, done);
    }
    const body = { ...booking, reason, allows_debt };
    return act('POST /accounts/:account_id/adjustments', { params, body }, done);
  };
  return (
    <FormModal
      onClose={onClose}
      title={isCredit ? t('credit_title', { email: account.email }) : t('correct_title')}
      submit={t(isCredit ? 'credit' : 'correct_title')}
      disabled={!isComplete}
      onSubmit={submit}
    >
      {!isCredit && <Text size="sm">{t('correct_text')}</Text>}
      <MoneyInput
        label={t(isCredit ? 'amount' : 'correct_amount')}
        {...field('amount')}
        allows={allows}
        required
        data-autofocus
      />
      {isCredit && (
        <Select
          label={t('source')}
          data={bookedSources.map((value) => ({ value, label: t(`common:source.${value}`) }))}
          allowDeselect={false}
          {...field('source')}
        />
      )}
      {isCredit && source === 'bonus' && (
        <DateField
          label={t('expires')}
          description={t('expires_hint')}
          min={dayOfDate(new Date())}
          {...field('lastDay')}
        />
      )}
      <div>
        <ReferenceInput
          label={t('reference')}
          description={t('reference_hint')}
          {...field('reference')}
        />
        <EarlierBooking
          reference={reference.trim()}
          same={{
            account_id: account.account_id,
            amount: parseUsd(amount),
            source: isCredit ? source : null,
          }}
        />
      </div>
      {!isCredit && (
        <Checkbox
          label={t('allows_debt')}
          description={t('allows_debt_hint')}
          {...tick('allows_debt')}
        />
      )}
      {isCredit && (
        <ReasonInput label={t('note')} description={t('note_hint')} {...field('note')} />
      )}
      {!isCredit && (
        <ReasonInput
          label={t('reason')}
          description={t('reason_hint')}
          required
          {...field('reason')}
        />
      )}
    </FormModal>
  );
}

/** The end of a bonus's last day; null if the bonus has no end. */
function endOf(source: Source, lastDay: string): string | null {
  return source === 'bonus' && lastDay !== '' ? `${lastDay}T23:59:59.999Z` : null;
}

function EarlierBooking(props: {
  reference: string;
  same: { account_id: string; amount: bigint | null; source: Source | null };
}) {
  const { t } = useTranslation('operator_account');
  const moment = useMoment();
  const [reference] = useDebouncedValue(props.reference, 250);
  const enabled = reference !== '';
  const { data } = useOperatorQuery('GET /references', { query: { reference } }, { enabled });
  const booked = props.reference === '' ? null : data?.booked;
  if (!booked) {
    // The space is reserved, so that nothing moves while typing.
    return (
      <Note mt={4} mih={18} role="status">
        {props.reference !== '' && data ? t('reference_free') : ''}
      </Note>
    );
  }
  const { account_id, amount, source } = props.same;
  const isSame =
    source !== null &&
    booked.source === source &&
    booked.account_id === account_id &&
    BigInt(booked.amount_usd_micro) === amount;
  const when = moment(booked.created_at);
  const shown = `$${formatUsd(booked.amount_usd_micro)}`.replace('$−', '−$');
  const { email } = booked;
  return (
    <Text size="xs" mt={4} fw={500} role="status" c={isSame ? undefined : 'red'}>
      {t(isSame ? 'reference_same' : 'reference_taken', { when, email, amount: shown })}
    </Text>
  );
}
