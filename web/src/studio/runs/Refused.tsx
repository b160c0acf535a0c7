import { Alert, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { messageOf } from '../../components/Failure.tsx';
import { Dimmed, RowButton } from '../../components/styles.ts';
import { isLost, type PendingSubmit } from '../form/pending-submits.ts';
import { useTranslation } from '../../i18n.ts';

/** A submit that was refused, or whose reply was lost. */
export function Refused(props: { press: PendingSubmit; again: () => void; drop: () => void }) {
  const { press, again, drop } = props;
  const { t } = useTranslation('studio');
  const isOpen = isLost(press.error);
  return (
    <Alert
      color={isOpen ? 'orange' : 'red'}
      icon={<IconAlertTriangle />}
      title={isOpen ? t('lost_title') : t('refused_title')}
      role="alert"
      withCloseButton
      closeButtonLabel={t('common:close')}
      onClose={drop}
    >
      <Text size="sm">{isOpen ? t('lost_text') : messageOf(press.error)}</Text>
      {!isOpen && <Dimmed>{t('nothing_charged')}</Dimmed>}
      <RowButton mt="sm" onClick={again}>
        {t('common:retry')}
      </RowButton>
    </Alert>
  );
}
