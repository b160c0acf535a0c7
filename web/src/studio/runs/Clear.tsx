import { Tooltip } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { Note, QuietIcon } from '../../components/styles.ts';
import { useTranslation } from '../../i18n.ts';

/** A button that removes the value beside it. */
export function Clear({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Tooltip label={label}>
      <QuietIcon aria-label={label} onClick={onClick}>
        <IconX size={16} />
      </QuietIcon>
    </Tooltip>
  );
}

/**
 * Shown if no value is set: says that the displayed value is the default, or that the model
 * chooses.
 */
export function Default({ isShown }: { isShown: boolean }) {
  const { t } = useTranslation('studio');
  return <Note span>{isShown ? t('default') : t('choose')}</Note>;
}
