import { Anchor, Group } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { QueryLink } from '../../address.ts';
import type { ReactNode } from 'react';
import { useTranslation } from '../../i18n.ts';

/** A link to the list that this page belongs to. */
export function BackLink(props: {
  to: string;
  search?: Record<string, string>;
  children: ReactNode;
}) {
  const { t } = useTranslation('common');
  return (
    <Anchor
      component={QueryLink}
      to={props.to}
      search={props.search ?? {}}
      size="sm"
      c="dimmed"
      underline="hover"
      className="no-print"
    >
      <Group gap={4} mb="xs" component="span" display="inline-flex">
        <IconArrowLeft size={15} />
        {props.children}
      </Group>
    </Anchor>
  );
}
