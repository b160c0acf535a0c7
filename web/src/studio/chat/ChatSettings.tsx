import {
  Collapse,
  Group,
  NumberInput,
  Slider,
  Stack,
  Text,
  Textarea,
  UnstyledButton,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown } from '@tabler/icons-react';
import { useId } from 'react';
import { Dimmed } from '../../components/styles.ts';
import type { Conversation } from './conversations.ts';
import { Clear } from '../runs/Clear.tsx';
import type { Model } from '../../api-types.ts';
import { useTranslation } from '../../i18n.ts';

type Settings = Pick<Conversation, 'system' | 'max_tokens' | 'temperature'>;

/** Model and sampling settings of a conversation, folded by default. */
export function ChatSettings(props: {
  conversation: Settings;
  model: Model | undefined;
  set: (settings: Partial<Settings>) => void;
}) {
  const { conversation, model, set } = props;
  const { t } = useTranslation('chat');
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  const { system, max_tokens, temperature } = conversation;
  const said = [
    system.trim() !== '' ? t('system') : null,
    max_tokens !== undefined ? `${t('max_tokens')} ${max_tokens}` : null,
    temperature !== undefined ? `${t('temperature')} ${temperature}` : null,
  ].filter(Boolean);
  return (
    <div>
      <UnstyledButton onClick={toggle} aria-expanded={isOpen} fz="sm" fw={500} py={4}>
        <Group gap={6}>
          <IconChevronDown size={16} style={{ transform: isOpen ? undefined : 'rotate(-90deg)' }} />
          {t('common:nav.settings')}
          <Dimmed fw={400}>{said.join(' · ')}</Dimmed>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
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
              max={model?.max_output_tokens}
              allowDecimal={false}
              thousandSeparator=" "
              w={220}
              onChange={(value) =>
                set({ max_tokens: typeof value === 'number' ? value : undefined })
              }
            />
            <Stack gap={6} flex={1} miw={220}>
              <Group gap={6} mih={28}>
                <Text size="sm" fw={500} id={id}>
                  {t('temperature')}
                </Text>
                <Dimmed className="number">{temperature ?? t('left_to_model')}</Dimmed>
                {temperature !== undefined && (
                  <Clear
                    label={t('left_to_model')}
                    onClick={() => set({ temperature: undefined })}
                  />
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
      </Collapse>
    </div>
  );
}
