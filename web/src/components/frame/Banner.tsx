import { CloseButton, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { webQuery } from '../../entry/signing-in.ts';
import { useTranslation } from '../../i18n.ts';

const storageKey = 'farebox-banner';

/** The operator's text above all pages, until the user closes it. */
export function Banner() {
  const { t, language } = useTranslation('common');
  const banner = useQuery({ ...webQuery, refetchInterval: 60_000 }).data?.banner;
  const [closed, setClosed] = useState(() => localStorage.getItem(storageKey));
  if (!banner || banner.changed_at === closed) return null;
  const text = language === 'ru' ? (banner.ru ?? banner.en) : (banner.en ?? banner.ru);
  const close = () => {
    localStorage.setItem(storageKey, banner.changed_at);
    setClosed(banner.changed_at);
  };
  return (
    <Group
      role="note"
      wrap="nowrap"
      align="flex-start"
      justify="space-between"
      gap="sm"
      mb="md"
      px="md"
      py="xs"
      style={{
        background: 'var(--warn-ground)',
        border: '1px solid var(--warn-edge)',
        borderRadius: 8,
      }}
    >
      <Text size="sm" className="wrap" style={{ whiteSpace: 'pre-line' }}>
        {text}
      </Text>
      <CloseButton size="sm" aria-label={t('close')} onClick={close} />
    </Group>
  );
}
