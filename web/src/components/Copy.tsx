import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useTranslation } from '../i18n.ts';

/** Copies a text to the clipboard. `what` names it for screen readers. */
export function Copy({ text, what }: { text: string; what: string }) {
  const { t } = useTranslation('common');
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t('copied') : t('copy')}>
          <ActionIcon
            variant="subtle"
            color={copied ? 'fare' : 'gray'}
            onClick={copy}
            aria-label={`${t('copy')}: ${what}`}
          >
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}
