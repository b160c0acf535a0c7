import { ActionIcon, Tooltip } from '@mantine/core';
import { IconX } from '@tabler/icons-react';

/** Takes away what is beside it; its label says what that is. */
export function Clear({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
        <IconX size={16} />
      </ActionIcon>
    </Tooltip>
  );
}
