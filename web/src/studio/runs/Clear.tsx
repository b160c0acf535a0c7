import { ActionIcon, Text, Tooltip } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

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

/** Stands where nothing was chosen: what is shown is the default, or the model's own is taken. */
export function Default({ isShown }: { isShown: boolean }) {
  const { t } = useTranslation('studio');
  return (
    <Text size="xs" c="dimmed" span>
      {isShown ? t('default') : t('choose')}
    </Text>
  );
}
