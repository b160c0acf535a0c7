import { Text } from '@mantine/core';
import type { OperatorRequest } from '../../api-types.ts';
import { FormModal } from '../../components/FormModal.tsx';
import { isAmount, MoneyInput } from '../../components/MoneyInput.tsx';
import { useFields } from '../../components/Form.tsx';
import { formatUsd, parseUsd } from '../../money.ts';
import { useAction } from '../action.ts';
import './request-texts.ts';
import { ReferenceInput, ReasonInput } from '../inputs.ts';
import { useTranslation } from '../../i18n.ts';

/** The part of a request's charge that was not refunded yet. */
export function leftToRefund(request: OperatorRequest): bigint {
  return BigInt(request.charged_usd_micro ?? 0) - BigInt(request.refunded_usd_micro);
}

/** Gives back the charge of a request, or a part of it. */
export function RefundDialog(props: { request: OperatorRequest; onClose: () => void }) {
  const { t } = useTranslation('operator_request');
  const { request, onClose } = props;
  const left = formatUsd(leftToRefund(request));
  const act = useAction();
  const { values, field } = useFields({ amount: '', reference: '', reason: '' });
  const { amount, reference, reason } = values;
  const isWhole = amount.trim() === '';
  const submit = () => {
    const part = isWhole ? null : String(parseUsd(amount));
    const body = { amount_usd_micro: part, reference, reason };
    const params = { request_id: request.request_id };
    return act('POST /requests/:request_id/refunds', { params, body }, ({ replayed }) =>
      t(replayed ? 'refund_replayed' : 'refund_booked'),
    );
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('refund_title')}
      submit={t('refund')}
      disabled={!(isWhole || isAmount(amount)) || reference.trim() === '' || reason.trim() === ''}
      onSubmit={submit}
    >
      <Text size="sm">{t('refund_text', { left: `$${left}` })}</Text>
      <MoneyInput
        label={t('refund_amount')}
        {...field('amount')}
        placeholder={t('refund_all')}
        data-autofocus
      />
      <ReferenceInput
        label={t('refund_reference')}
        description={t('refund_reference_hint')}
        {...field('reference')}
      />
      <ReasonInput
        label={t('refund_reason')}
        description={t('refund_reason_hint')}
        required
        {...field('reason')}
      />
    </FormModal>
  );
}
