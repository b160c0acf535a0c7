import { Radio, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FormModal } from '../components/FormModal.tsx';
import { parseUsd } from '../money.ts';
import { useDeed } from './acting.ts';
import './unknown-words.ts';
import type { Doubt } from './Unknown.tsx';

/** What an operator found out about a request whose outcome was unknown. */
export function ResolveDialog({ doubt, onClose }: { doubt: Doubt; onClose: () => void }) {
  const { t } = useTranslation('operator_unknown');
  const [outcome, setOutcome] = useState<'ran' | 'did_not_run'>('ran');
  const [cost, setCost] = useState('');
  const [note, setNote] = useState('');
  const deed = useDeed();
  const amount = parseUsd(cost);
  const isWrong = cost.trim() !== '' && (amount === null || amount < 0n);
  const ran = outcome === 'ran';
  const submit = async () => {
    const found = { outcome, ...(ran && { cost_usd_micro: String(amount) }) };
    const body = { ...found, ...(note.trim() !== '' && { note: note.trim() }) };
    await deed(`/unknown/${doubt.request_id}/resolve`, { body }, t('noted'));
    onClose();
  };
  return (
    <FormModal
      opened
      onClose={onClose}
      title={t('resolve_title')}
      submit={t('save')}
      disabled={ran && (amount === null || isWrong)}
      onSubmit={submit}
    >
      <Text fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
        {doubt.model_id} · {doubt.upstream}
      </Text>
      <Text size="sm">{t('resolve_text')}</Text>
      <Radio.Group
        value={outcome}
        onChange={(value) => setOutcome(value as typeof outcome)}
        aria-label={t('resolve_title')}
      >
        <Stack gap="xs">
          <Radio value="ran" label={t('ran')} />
          <Radio value="did_not_run" label={t('did_not_run')} />
        </Stack>
      </Radio.Group>
      {ran && (
        <TextInput
          label={t('cost_label')}
          value={cost}
          required
          inputMode="decimal"
          autoComplete="off"
          leftSection="$"
          error={isWrong ? t('bad_cost') : null}
          onChange={(event) => setCost(event.currentTarget.value)}
        />
      )}
      <Textarea
        label={t('note')}
        placeholder={t('note_hint')}
        value={note}
        maxLength={1000}
        autosize
        minRows={2}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </FormModal>
  );
}
