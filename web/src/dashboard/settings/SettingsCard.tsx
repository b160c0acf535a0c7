import { Card, Group, Stack, ThemeIcon } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dimmed, Heading } from '../../components/styles.ts';

/** A card of the settings page: a subject, its state, and its controls. */
export function SettingsCard(props: {
  icon: ReactNode;
  title: string;
  text: ReactNode;
  /** The state, beside the title. */
  status?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Group wrap="nowrap" align="flex-start" gap="md">
        <ThemeIcon size={38} radius="md" variant="light" visibleFrom="xs">
          {props.icon}
        </ThemeIcon>
        <Stack gap="md" flex={1} miw={0}>
          <Stack gap={4}>
            <Group gap="sm">
              <Heading>{props.title}</Heading>
              {props.status}
            </Group>
            <Dimmed>{props.text}</Dimmed>
          </Stack>
          {props.children}
        </Stack>
      </Group>
    </Card>
  );
}
