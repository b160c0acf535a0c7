import { Center } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PlainButton } from './styles.ts';

/** Loads the next page of a list, if there is one. */
export function More({ more, loading }: { more: (() => void) | null; loading: boolean }) {
  const { t } = useTranslation('common');
  if (more === null) return null;
  return (
    <Center mt="md">
      <PlainButton onClick={more} loading={loading}>
        {t('more')}
      </PlainButton>
    </Center>
  );
}
