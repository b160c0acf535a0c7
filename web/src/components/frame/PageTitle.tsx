import { Group, Stack, Text, Title } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';

/** Sets the title of the browser's tab. */
export function useTabTitle(title: string): void {
  useEffect(() => {
    document.title = `${Array.from(title).slice(0, 80).join('')} · Farebox`;
  }, [title]);
}

/** The heading of a page with its actions; also sets the browser tab's title. */
export function PageTitle(props: { title: string; text?: string; children?: ReactNode }) {
  useTabTitle(props.title);
  const isLong = props.text !== undefined || props.title.length > 30;
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="md">
      <Stack gap={4} miw={0} {...(isLong && { flex: '1 1 180px' })}>
        <Title order={1} className="wrap" dir="auto" lineClamp={3} title={props.title}>
          {props.title}
        </Title>
        {props.text && (
          <Text c="dimmed" maw={640}>
            {props.text}
          </Text>
        )}
      </Stack>
      {props.children && <Group gap="sm">{props.children}</Group>}
    </Group>
  );
}
