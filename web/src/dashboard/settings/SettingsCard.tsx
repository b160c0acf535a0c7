import { Card, Group, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { ReactNode } from 'react';

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
              <Title order={2} fz="lg">
                {props.title}
              </Title>
              {props.status}
            </Group>
            <Text size="sm" c="dimmed">
              {props.text}
            </Text>
          </Stack>
          {props.children}
        </Stack>
      </Group>
    </Card>
  );
}
