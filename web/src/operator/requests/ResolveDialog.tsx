import { Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useTranslation } from '../../i18n.ts';
import { DateField } from '../../components/date/DateField.tsx';
import { useFields } from '../../components/Form.tsx';
import type { UnknownOutcome, UnknownOutcomes } from '../../api-types.ts';
import { FormModal } from '../../components/FormModal.tsx';
import { parseUsd } from '../../money.ts';
import { useAction } from '../action.ts';
import './unknown-texts.ts';
import { ReasonInput } from '../inputs.ts';

interface ResolveProps {
  /** One unknown outcome, or all unknown outcomes of one upstream. */
  of: UnknownOutcome | UnknownOutcomes;
  onClose: () => void;
}

/** Records what an operator found out about unknown outcomes. */
export function ResolveDialog({ of, onClose }: ResolveProps) {
  const { t } = useTranslation('operator_unknown');
  const many = 'oldest_at' in of ? of : null;
  const { values, field } = useFields({
    outcome: 'ran' as 'ran' | 'did_not_run',
    cost: '',
    note: '',
    // Outcomes are selected by the time of their end. All ended after the oldest request was
    // created, so that time selects all.
    day: many?.oldest_at.slice(0, 10) ?? '',
    time: many?.oldest_at.slice(11, 16) ?? '',
  });
  const { outcome, cost, note } = values;
  const start = new Date(`${values.day}T${values.time.trim()}Z`);
  const isNoTime = many !== null && Number.isNaN(start.getTime());
  const act = useAction();
  const amount = parseUsd(cost);
  const isWrong = cost.trim() !== '' && (amount === null || amount < 0n);
  const ran = outcome === 'ran';
  const submit = async () => {
    const found = { outcome, ...(ran && { cost_usd_micro: String(amount) }) };
    const body = { ...found, ...(note.trim() !== '' && { note: note.trim() }) };
    if ('request_id' in of) {
      const one = { ...body, ...(of.left_at !== null && { attempt: of.attempt }) };
      const params = { request_id: of.request_id };
      return act('POST /requests/:request_id/resolve', { params, body: one }, t('noted'));
    }
    const all = { ...body, upstream: of.upstream, since: start.toISOString() };
    return act('POST /unknown/resolve', { body: all }, ({ resolved }) =>
      t('noted_many', { count: resolved }),
    );
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('resolve_title')}
      submit={t('save')}
      disabled={isNoTime || (ran && (amount === null || isWrong))}
      onSubmit={submit}
    >
      <Text fw={600} size="sm" className="wrap">
        {'model_id' in of ? `${of.model_id} · ${of.upstream}` : of.upstream}
      </Text>
      <Text size="sm">{t(many ? 'resolve_many_text' : 'resolve_text')}</Text>
      {many && (
        <Group gap="sm" grow align="flex-start">
          <DateField label={t('ended_since')} required {...field('day')} />
          <TextInput
            label={t('since_time')}
            placeholder="00:00"
            required
            autoComplete="off"
            error={isNoTime ? t('bad_time') : null}
            {...field('time')}
          />
        </Group>
      )}
      <Radio.Group {...field('outcome')} aria-label={t('resolve_title')}>
        <Stack gap="xs">
          <Radio value="ran" label={t('ran')} />
          <Radio value="did_not_run" label={t('did_not_run')} />
        </Stack>
      </Radio.Group>
      {ran && (
        <TextInput
          label={t(many ? 'cost_each_label' : 'cost_label')}
          required
          inputMode="decimal"
          autoComplete="off"
          leftSection="$"
          error={isWrong ? t('bad_cost') : null}
          {...field('cost')}
        />
      )}
      <ReasonInput label={t('note')} placeholder={t('note_hint')} {...field('note')} />
    </FormModal>
  );
}
