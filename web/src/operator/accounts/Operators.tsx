import { Text } from '@mantine/core';
import { Outlet } from '@tanstack/react-router';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { useMe } from '../../session.tsx';
import { useTranslation } from '../../i18n.ts';

/**
 * Other users see that the page does not exist; the service answers their calls in the same way.
 */
export function Operators() {
  const { t } = useTranslation('common');
  if (useMe()?.is_operator) return <Outlet />;
  return (
    <>
      <PageTitle title={t('not_found.title')} />
      <Text c="dimmed">{t('not_found.text')}</Text>
    </>
  );
}
