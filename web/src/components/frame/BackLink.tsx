import { Anchor } from '@mantine/core';
import { QueryLink } from '../../address.ts';
import type { ReactNode } from 'react';
import { Dimmed } from '../styles.ts';
import { useTranslation } from '../../i18n.ts';

/** The way back, above the heading: a link to the list that this page belongs to. */
export function BackLink(props: {
  to: string;
  search?: Record<string, string>;
  children: ReactNode;
}) {
  const { t } = useTranslation('common');
  return (
    <Dimmed component="nav" aria-label={t('way_back')} mb={4} className="no-print">
      <Anchor
        component={QueryLink}
        to={props.to}
        search={props.search ?? {}}
        inherit
        c="dimmed"
        underline="hover"
      >
        {props.children}
      </Anchor>
      <span aria-hidden> /</span>
    </Dimmed>
  );
}
