import {
  Alert,
  Button,
  Code,
  Group,
  ScrollArea,
  Select,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconDownload, IconEyeOff } from '@tabler/icons-react';
import { useFields } from '../../components/Form.tsx';
import { PlainButton } from '../../components/styles.ts';
import { Copy } from '../../components/Copy.tsx';
import { dayMs } from '../../components/date/days.ts';
import { Modal } from '../../components/Dialog.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { isAmount, MoneyInput } from '../../components/MoneyInput.tsx';
import { formatUsd, parseUsd } from '../../money.ts';
import { useAction } from '../action.ts';
import { keysOf } from '../../records.ts';
import { saveText } from '../../components/save.ts';
import { useTranslation } from '../../i18n.ts';
import './vouchers-texts.ts';

const expiries = { never: null, days30: 30, days90: 90, year: 365 };
type Expiry = keyof typeof expiries;

export function NewVouchers({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operator_vouchers');
  const act = useAction();
  const { values, set, field } = useFields({
    amount: '',
    count: '1',
    note: '',
    expiry: 'never' as Expiry,
  });
  const { amount, count, note, expiry } = values;
  const number = /^\d{1,4}$/.test(count) ? Number(count) : 0;
  const isCount = number >= 1 && number <= 1000;
  const isComplete = isCount && isAmount(amount);
  const submit = async () => {
    const days = expiries[expiry];
    const body = {
      amount_usd_micro: String(parseUsd(amount)),
      count: number,
      note: note.trim() || null,
      expires_at: days === null ? null : new Date(Date.now() + days * dayMs).toISOString(),
    };
    const { data } = await act('POST /vouchers', { body });
    return data.map(({ code }) => code);
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('new')}
      submit={t('create')}
      disabled={!isComplete}
      onSubmit={submit}
      made={(codes) => <Codes codes={codes} amount={amount} onClose={onClose} />}
    >
      <MoneyInput label={t('amount')} {...field('amount')} required data-autofocus />
      <TextInput
        label={t('count')}
        description={t('count_hint')}
        inputMode="numeric"
        required
        value={count}
        onChange={(event) => set({ count: event.currentTarget.value.trim() })}
        error={count !== '' && !isCount}
      />
      <TextInput
        label={t('note')}
        description={t('note_hint')}
        maxLength={200}
        {...field('note')}
      />
      <Select
        label={t('expires')}
        data={keysOf(expiries).map((value) => ({ value, label: t(`expiry.${value}`) }))}
        allowDeselect={false}
        {...field('expiry')}
      />
      {isComplete && (
        <Text size="sm" ta="right" className="number">
          {t('total', { amount: `$${formatUsd(parseUsd(amount)! * BigInt(number))}` })}
        </Text>
      )}
    </FormModal>
  );
}

function Codes(props: { codes: string[]; amount: string; onClose: () => void }) {
  const { t } = useTranslation('operator_vouchers');
  const { codes, onClose } = props;
  const text = codes.join('\n');
  return (
    // Only its button closes the dialog, because the codes are shown once.
    <Modal
      opened
      onClose={onClose}
      title={t('codes')}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Alert icon={<IconEyeOff />} color="yellow" title={t('made_title')}>
          {t('made_text')}
        </Alert>
        <Group gap="xs" wrap="nowrap" align="flex-start">
          <ScrollArea.Autosize
            mah={280}
            type="auto"
            style={{ flex: 1 }}
            viewportProps={{ tabIndex: 0, 'aria-label': t('codes'), role: 'region' }}
          >
            <Code block>{text}</Code>
          </ScrollArea.Autosize>
          <Copy text={text} what={t('codes')} />
        </Group>
        <Group justify="space-between">
          <PlainButton
            leftSection={<IconDownload size={18} />}
            onClick={() => download(codes, props.amount)}
          >
            {t('download')}
          </PlainButton>
          <Button onClick={onClose}>{t('done')}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function download(codes: string[], amount: string): void {
  const worth = formatUsd(parseUsd(amount)!).replaceAll(',', '');
  const csv = ['code,usd', ...codes.map((code) => `${code},${worth}`)].join('\r\n');
  const name = `vouchers-${new Date().toISOString().slice(0, 10)}.csv`;
  saveText(name, `${csv}\r\n`, 'text/csv');
}
