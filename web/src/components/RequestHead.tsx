import { Group } from '@mantine/core';
import { Dimmed } from './styles.ts';
import { Copy } from './Copy.tsx';
import { StatusBadge } from './text.tsx';

/** The status and id of a request, below its page's title. */
export function RequestHead(props: {
  request_id: string;
  status: Parameters<typeof StatusBadge>[0]['status'];
  /** Names the id in the label of the copy button. */
  what: string;
}) {
  const { request_id, status, what } = props;
  return (
    <Group gap="xs" mt={-8} mb="lg">
      <StatusBadge status={status} />
      <Group gap={2} wrap="nowrap" miw={0}>
        <Dimmed ff="monospace" className="wrap">
          {request_id}
        </Dimmed>
        <Copy text={request_id} what={what} />
      </Group>
    </Group>
  );
}
