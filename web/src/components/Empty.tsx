import { Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** In place of a list that has nothing yet: what belongs here, and how to get there. */
export function Empty(props: {
  icon: ReactNode;
  title: string;
  text: string;
  /** 1 where it stands for the page itself. */
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
