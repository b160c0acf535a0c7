import { Anchor, Card, Center, Group, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTabTitle } from '../components/frame/PageTitle.tsx';
import { Dimmed } from '../components/styles.ts';
import { useTranslation } from '../i18n.ts';
import './texts.ts';

/** A card on an empty page. It grows downwards, so that nothing moves when more of it is known. */
export function Frame({ title, children }: { title: string; children: ReactNode }) {
  const { t } = useTranslation('entry');
  useTabTitle(title);
  return (
    <Center component="main" p="md" pt="max(var(--mantine-spacing-md), 14vh)">
      <Stack w="100%" maw={400} gap="lg">
        <Stack gap={6} align="center" ta="center">
          <Group gap={10}>
            <img src="/favicon.svg" alt="" width={34} height={34} />
            <Text fw={600} fz={24}>
              Farebox
            </Text>
          </Group>
          <Dimmed>{t('tagline')}</Dimmed>
        </Stack>
        <Card withBorder shadow="sm" p="xl">
          <Stack>
            <Title order={1} fz={22}>
              {title}
            </Title>
            {children}
          </Stack>
        </Card>
        <Group justify="center" gap="lg">
          <Anchor href="/docs" size="sm">
            {t('common:nav.docs')}
          </Anchor>
          <Anchor href="/models" size="sm">
            {t('models')}
          </Anchor>
        </Group>
      </Stack>
    </Center>
  );
}
