import { Group, Slider, Stack, Text, Textarea } from '@mantine/core';
import { useId } from 'react';
import { Dimmed } from '../../components/styles.ts';
import type { Conversation } from './conversations.ts';
import { Clear } from '../runs/Clear.tsx';
import type { Model } from '../../api-types.ts';
import { useTranslation } from '../../i18n.ts';
import { NumberInput } from '../../components/NumberInput.tsx';

type Settings = Pick<Conversation, 'system' | 'max_tokens' | 'temperature'>;

/** Model and sampling settings of a conversation. */
export function ChatSettings(props: {
  conversation: Settings;
  models: Model[];
  set: (settings: Partial<Settings>) => void;
}) {
  const { conversation, models, set } = props;
  const { t } = useTranslation('chat');
  const id = useId();
  const { system, max_tokens, temperature } = conversation;
  return (
    <Stack gap="md" pt="sm">
      <Textarea
        label={t('system')}
        description={t('system_text')}
        value={system}
        autosize
        minRows={2}
        maxRows={10}
        onChange={({ currentTarget }) => set({ system: currentTarget.value })}
      />
      <Group gap="xl" align="start">
        <NumberInput
          label={t('max_tokens')}
          description={t('max_tokens_text')}
          value={max_tokens ?? ''}
          placeholder="4096"
          min={1}
          max={smallestOutputLimit(models)}
          allowDecimal={false}
          thousandSeparator=" "
          w={220}
          onChange={(value) => set({ max_tokens: typeof value === 'number' ? value : undefined })}
        />
        <Stack gap={6} flex={1} miw={220}>
          <Group gap={6} mih={28}>
            <Text size="sm" fw={500} id={id}>
              {t('temperature')}
            </Text>
            <Dimmed className="number">{temperature ?? t('left_to_model')}</Dimmed>
            {temperature !== undefined && (
              <Clear label={t('left_to_model')} onClick={() => set({ temperature: undefined })} />
            )}
          </Group>
          <Slider
            min={0}
            max={2}
            step={0.1}
            label={null}
            thumbLabel={t('temperature')}
            value={temperature ?? 1}
            onChange={(value) => set({ temperature: Number(value.toFixed(1)) })}
          />
        </Stack>
      </Group>
    </Stack>
  );
}

/** The smallest output limit of these models, in tokens; undefined if none states one. */
function smallestOutputLimit(models: Model[]): number | undefined {
  const limits = models.flatMap(({ max_output_tokens }) => max_output_tokens ?? []);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** The names of the settings that differ from the defaults. */
export function settingsIn({ system, max_tokens, temperature }: Settings) {
  return [
    ...(system.trim() === '' ? [] : ['system' as const]),
    ...(max_tokens === undefined ? [] : ['max_tokens' as const]),
    ...(temperature === undefined ? [] : ['temperature' as const]),
  ];
}
