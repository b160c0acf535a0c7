import { Alert, Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { IconCheck, IconCopy, IconEyeOff } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Dimmed, PlainButton } from '../../components/styles.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Snippet } from '../../components/Snippet.tsx';
import { Usd, When } from '../../components/text.tsx';
import { useSettings } from '../../entry/signing-in.ts';
import type { Model, NewKey } from '../../api-types.ts';
import { firstChoice, modelsQuery } from '../../studio/models.ts';
import styles from './Keys.module.css';
import { useAccountQuery } from '../../queries.ts';
import { programs } from '../../../../server/src/core/snippets.ts';
import { useTranslation } from '../../i18n.ts';

/** The secret of a new key, shown once, until the user closes it. */
export function KeyShown({ made, onClose }: { made: NewKey; onClose: () => void }) {
  const { t } = useTranslation('keys');
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('shown_title', { name: made.name })}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Shown made={made} onClose={onClose} />
    </Modal>
  );
}

function Shown({ made, onClose }: { made: NewKey; onClose: () => void }) {
  const { t } = useTranslation('keys');
  return (
    <Stack>
      <Alert icon={<IconEyeOff />} color="yellow" title={t('shown_once')}>
        {t('shown_once_text')}
      </Alert>
      <Group gap="sm" align="stretch">
        <code className={styles.text} data-testid="key">
          {made.key}
        </code>
        <CopyButton value={made.key}>
          {({ copied, copy }) => (
            <Button
              className={styles.copy}
              h="auto"
              mih={42}
              onClick={copy}
              leftSection={copied ? <IconCheck size={18} /> : <IconCopy size={18} />}
              data-autofocus
            >
              {copied ? t('common:copied') : t('copy_key')}
            </Button>
          )}
        </CopyButton>
      </Group>
      {made.previous_until !== null && (
        <Text size="sm">
          {t('shown_overlap')} <When at={made.previous_until} as="exact" />.
        </Text>
      )}
      {made.scope === 'keys' ? <TryManaging made={made} /> : <Try made={made} />}
      <Group justify="flex-end">
        <PlainButton onClick={onClose}>{t('kept')}</PlainButton>
      </Group>
    </Stack>
  );
}

/** A call that lists the keys, with the new key filled in. */
function TryManaging({ made }: { made: NewKey }) {
  const { t } = useTranslation('keys');
  const settings = useSettings();
  if (!settings) return null;
  const code = `curl ${settings.base_url}/keys \\\n  -H 'Authorization: Key ${made.key}'`;
  return (
    <div>
      <Text fw={600} mb={4}>
        {t('try')}
      </Text>
      <Dimmed mb="xs">{t('try_keys')}</Dimmed>
      <Snippet code={code} what="curl" />
    </div>
  );
}

/** A first call with the key filled in. */
function Try({ made }: { made: NewKey }) {
  const { t } = useTranslation('keys');
  const settings = useSettings();
  const { data } = useQuery(modelsQuery);
  const model = data && exampleOf(data, made.models);
  const price = usePrice(model ?? null);
  if (!settings || !model) return null;
  return (
    <div>
      <Text fw={600} mb={4}>
        {t('try')}
      </Text>
      <Dimmed mb="xs">
        {t(model.kind === 'text' ? 'try_chat' : 'try_queue')} <Code>{model.id}</Code>.
        {price !== null && (
          <>
            {' '}
            {t('try_price')} <Usd micro={price} price />.
          </>
        )}
      </Dimmed>
      <Snippet code={curlOf(settings.base_url, made.key, model)} what="curl" />
    </div>
  );
}

/** The price of the example; null if it is not fixed in advance. */
function usePrice(model: Model | null): string | null {
  const { data } = useAccountQuery(
    'POST /v1/estimate',
    { body: { model_id: model?.id ?? '', input: model?.example ?? {} } },
    { enabled: model !== null && model.kind !== 'text', retry: false },
  );
  return data?.price_usd_micro ?? null;
}

/** A text-to-image model, or else a text model, or else any model that the key may use. */
function exampleOf(models: Model[], allowed: string[] | null): Model | undefined {
  const usable = models.filter(({ id }) => allowed === null || allowed.includes(id));
  return (
    firstChoice(usable.filter(({ task }) => task === 'text-to-image')) ??
    firstChoice(usable.filter(({ kind }) => kind === 'text')) ??
    firstChoice(usable)
  );
}

function curlOf(base_url: string, key: string, model: Model): string {
  const { id: model_id, example: input, kind } = model;
  const { curl } = programs({ base_url, model_id, input, kind });
  return curl.replaceAll('$FAREBOX_API_KEY', key);
}
