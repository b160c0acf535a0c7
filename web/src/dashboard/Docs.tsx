import './docs-texts.ts';
import { Anchor, Group, PasswordInput, Select, Skeleton, Stack, Text } from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { Heading, PlainButton } from '../components/styles.ts';
import { Failure } from '../components/Failure.tsx';
import { PageTitle } from '../components/frame/PageTitle.tsx';
import { Snippet } from '../components/Snippet.tsx';
import type { Model } from '../api-types.ts';
import { useSettings } from '../entry/signing-in.ts';
import { firstChoice, modelsQuery } from '../studio/models.ts';
import { installs, programs } from '../../../server/src/core/snippets.ts';
import { useTranslation } from '../i18n.ts';

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
  const { base_url } = settings;
  const media = models.data.filter(({ kind }) => kind !== 'text');
  const chosen = media.find(({ id }) => id === wanted) ?? firstChoice(media);
  const chat = firstChoice(models.data.filter(({ kind }) => kind === 'text'));
  const variables = `export FAREBOX_API_KEY=${key.trim() || 'YOUR_KEY'}\nexport FAREBOX_BASE_URL=${base_url}`;
  return (
    <Stack gap="xl">
      <Part name="key">
        <Group align="flex-end" mb="sm">
          <PasswordInput
            label={t('key')}
            description={t('key_text')}
            placeholder="fbx_…"
            autoComplete="off"
            style={{ flex: '1 1 280px' }}
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
          <PlainButton component={Link} to="/dashboard/keys">
            {t('make_key')}
          </PlainButton>
        </Group>
        <Snippet what={t('parts.key.title')} code={variables} />
      </Part>
      <Part name="tools">
        <Snippet what={t('parts.tools.title')} code={installs(base_url)} {...spoken} />
      </Part>
      {chosen && (
        <Part name="media">
          <Select
            label={t('common:model')}
            searchable
            allowDeselect={false}
            data={media.map(({ id }) => id)}
            value={chosen.id}
            onChange={setWanted}
            maw={480}
            mb="sm"
          />
          <Snippet what={t('parts.media.title')} code={codeOf(chosen, base_url)} {...spoken} />
        </Part>
      )}
      {chat && (
        <Part name="chat">
          <Snippet what={t('parts.chat.title')} code={codeOf(chat, base_url)} {...spoken} />
        </Part>
      )}
      <Text size="sm">
        {t('more')
          .split(/[[\]]/)
          .map((text, i) =>
            i % 2 === 0 ? (
              text
            ) : (
              <Anchor key={text} href={`${base_url}/${text}`} size="sm">
                {text}
              </Anchor>
            ),
          )}
      </Text>
    </Stack>
  );
}

function codeOf({ id, kind, example }: Model, base_url: string): Record<string, string> {
  return programs({ base_url, model_id: id, kind, input: example });
}

function Part({ name, children }: { name: string; children: ReactNode }) {
  const { t } = useTranslation('docs');
  return (
    <section>
      <Heading mb={4}>{t(`parts.${name}.title`)}</Heading>
      <Text c="dimmed" mb="sm">
        {t(`parts.${name}.text`)}
      </Text>
      {children}
    </section>
  );
}
