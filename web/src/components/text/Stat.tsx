import { Card, Skeleton, Text } from '@mantine/core';
import type { ReactNode } from 'react';

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
      <Text c="dimmed" size="sm">
        {label}
      </Text>
      {children === undefined ? (
        <Skeleton h={34} w="70%" mt={4} />
      ) : (
        <Text component="div" className="figure" fz={{ base: 22, sm: 24 }} fw={650} lh={1.45}>
          {children}
        </Text>
      )}
      {note !== undefined && (
        <Text component="div" c="dimmed" size="sm">
          {note}
        </Text>
      )}
    </Card>
  );
}
