import { Card, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dimmed } from '../styles.ts';

/** A section of a page with its own heading. */
export function SectionCard(props: {
  title: string;
  text?: string | undefined;
  children: ReactNode;
}) {
  return (
    <Card withBorder component="section">
      <Title order={2} fz="md" mb={props.text ? 4 : 'sm'}>
        {props.title}
      </Title>
      {props.text && <Dimmed mb="sm">{props.text}</Dimmed>}
      {props.children}
    </Card>
  );
}
