import './docs-words.ts';
import {
  Anchor,
  Card,
  Group,
  PasswordInput,
  Select,
  Skeleton,
  Stack,
  Text,
  ThemeIcon,
} from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Trans, useTranslation } from 'react-i18next';
import { typed } from '../components/typed.ts';
import { Heading, PlainButton } from '../components/styles.ts';
import { Copy } from '../components/Copy.tsx';
import { Failure } from '../components/Failure.tsx';
import { PageTitle } from '../components/frame/PageTitle.tsx';
import { Snippet } from '../components/snippets/Snippet.tsx';
import { useSettings } from '../entry/signing-in.ts';
import { firstChoice, modelsQuery } from '../studio/models.ts';
import { examples, tools, type StepName } from './examples.ts';

/** How to start. The public pages have the rest. */
export function Docs() {
  const { t } = useTranslation('docs');
  return (
    <>
      <PageTitle title={t('common:nav.docs')} text={t('text')}>
        <PlainButton component="a" href="/docs/api">
          {t('reference')}
        </PlainButton>
        <PlainButton component="a" href="/docs">
          {t('all')}
        </PlainButton>
        <PlainButton component="a" href="/models">
          {t('models')}
        </PlainButton>
      </PageTitle>
      <QuickStart />
    </>
  );
}

const steps: StepName[] = ['price', 'submit', 'wait', 'result', 'chat'];

function QuickStart() {
  const { t } = useTranslation('docs');
  const settings = useSettings();
  const models = useQuery(modelsQuery);
  const [key, setKey] = useSessionStorage({ key: 'farebox-docs-key', defaultValue: '' });
  const [language, onLanguage] = useState('curl');
  const spoken = { language, onLanguage };
  const [wanted, setWanted] = useState<string | null>(null);
  if (models.error) return <Failure error={models.error} retry={() => void models.refetch()} />;
  if (!models.data || !settings) return <Skeleton h={400} />;
  const media = models.data.filter(({ kind }) => kind !== 'text');
  const chosen = media.find(({ id }) => id === wanted) ?? firstChoice(media);
  const filled = examples({
    base: settings.base_url,
    key: key.trim() || 'YOUR_KEY',
    model: chosen?.id ?? 'MODEL',
    input: chosen?.example ?? {},
    chat: firstChoice(models.data.filter(({ kind }) => kind === 'text'))?.id ?? null,
  });
  return (
    <Stack gap="xl">
      <Card withBorder padding="lg">
        <Stack>
          <Group gap="xs">
            <Text size="sm" fw={500}>
              {t('address')}
            </Text>
            <Group gap="xs" wrap="nowrap">
              <Text size="sm" ff="monospace" className="wrap">
                {settings.base_url}
              </Text>
              <Copy text={settings.base_url} what={t('address')} />
            </Group>
          </Group>
          <Group align="flex-end">
            <PasswordInput
              label={t('key')}
              description={t('key_text')}
              placeholder="fbx_…"
              autoComplete="off"
              style={{ flex: '1 1 280px' }}
              {...typed(key, setKey)}
            />
            <PlainButton component={Link} to="/dashboard/keys">
              {t('make_key')}
            </PlainButton>
          </Group>
          <Select
            label={t('common:model')}
            searchable
            allowDeselect={false}
            data={media.map(({ id }) => id)}
            value={chosen?.id ?? null}
            onChange={setWanted}
            maw={480}
          />
        </Stack>
      </Card>
      {steps.map((name, i) => (
        <section key={name}>
          <Group gap="sm" mb={4} wrap="nowrap">
            <ThemeIcon variant="light" radius="xl" size={28}>
              {i + 1}
            </ThemeIcon>
            <Heading>{t(`steps.${name}.title`)}</Heading>
          </Group>
          <Text c="dimmed" mb="sm">
            {t(`steps.${name}.text`)}
          </Text>
          <Snippet what={t(`steps.${name}.title`)} code={filled[name]} {...spoken} />
        </section>
      ))}
      <section>
        <Heading mb={4}>{t('tools')}</Heading>
        <Text c="dimmed" mb="sm">
          {t('tools_text')}
        </Text>
        <Snippet what={t('tools')} code={tools({ base: settings.base_url })} {...spoken} />
      </section>
      <Text size="sm">
        <Trans
          t={t}
          i18nKey="more"
          components={[
            <Anchor key="0" href={`${settings.base_url}/openapi.json`} size="sm" />,
            <Anchor key="1" href={`${settings.base_url}/llms.txt`} size="sm" />,
          ]}
        />
      </Text>
    </Stack>
  );
}
