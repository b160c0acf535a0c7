import { Card, Skeleton, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dimmed } from './styles.ts';

/** A figure with its name. A placeholder while it has no children. */
export function Stat({
  label,
  children,
  note,
}: {
  label: string;
  children?: ReactNode;
  note?: ReactNode;
}) {
  return (
    <Card withBorder p="md">
      <Dimmed>{label}</Dimmed>
      <Text component="div" className="figure" fz={{ base: 22, sm: 24 }} fw={600} lh={1.45}>
        {children ?? <Skeleton h="1lh" w="70%" />}
      </Text>
      {note !== undefined && <Dimmed component="div">{note}</Dimmed>}
    </Card>
  );
}
