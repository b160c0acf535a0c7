import { Anchor, type MantineSize } from '@mantine/core';
import { useLocation } from '@tanstack/react-router';
import { QueryLink } from '../address.ts';
import { useTranslation } from '../i18n.ts';

/** Leads to where the balance is topped up, and from there back to this page. */
export function TopUpLink({ size }: { size: MantineSize }) {
  const { t } = useTranslation('studio');
  const { pathname, searchStr } = useLocation();
  return (
    <Anchor
      component={QueryLink}
      to="/dashboard/money/top-up"
      search={{ back: pathname + searchStr }}
      size={size}
    >
      {t('top_up')}
    </Anchor>
  );
}
