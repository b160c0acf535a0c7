import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { Heading } from '../../components/styles.ts';

/** A section with a link to all that it shows a part of. */
export function Panel(props: {
  title: string;
  badge?: ReactNode;
  more?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section>
      <Group justify="space-between" mb="sm">
        <Group gap="xs">
          <Heading>{props.title}</Heading>
          {props.badge}
        </Group>
        {props.more}
      </Group>
      {props.children}
    </section>
  );
}
