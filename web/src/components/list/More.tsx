import { Center, type CenterProps } from '@mantine/core';
import { PlainButton } from '../styles.ts';
import { useTranslation } from '../../i18n.ts';

/** Loads the next page of a list, if there is one. */
export function More({
  of: { more, isLoadingMore },
  ...place
}: CenterProps & { of: { more: (() => void) | null; isLoadingMore?: boolean } }) {
  const { t } = useTranslation('common');
  if (more === null) return null;
  return (
    <Center mt="md" {...place}>
      <PlainButton onClick={more} loading={isLoadingMore ?? false}>
        {t('more')}
      </PlainButton>
    </Center>
  );
}
