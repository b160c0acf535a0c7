import { Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Shown for an empty list: says what will appear here, and how to get there. */
export function Empty(props: {
  icon: ReactNode;
  title: string;
  text: string;
  /** Heading level 1 if this is the whole page. */
  order?: 1 | 2;
  children?: ReactNode;
}) {
  return (
    <Stack align="center" gap="sm" py={48} px="md" ta="center">
      <ThemeIcon size={56} radius="xl" variant="light">
        {props.icon}
      </ThemeIcon>
      <Title order={props.order ?? 2} fz="lg">
        {props.title}
      </Title>
      <Text c="dimmed" maw={460}>
        {props.text}
      </Text>
      {props.children}
    </Stack>
  );
}
