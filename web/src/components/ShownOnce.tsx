import { Alert, Code, Group, Stack, Text } from '@mantine/core';
import { IconEyeOff } from '@tabler/icons-react';
import { Copy } from './Copy.tsx';

export function ShownOnce(props: { title: string; text: string; secret: string; what: string }) {
  return (
    <Alert icon={<IconEyeOff />} title={props.title} color="yellow">
      <Stack gap="xs">
        <Text size="sm">{props.text}</Text>
        <Group gap="xs" wrap="nowrap">
          <Code block style={{ flex: 1, overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            {props.secret}
          </Code>
          <Copy text={props.secret} what={props.what} />
        </Group>
      </Stack>
    </Alert>
  );
}
