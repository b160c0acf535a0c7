import { Alert, Button, Group, Text } from '@mantine/core';
import { useLocale } from './text/locale.ts';
import { notice } from './frame/notice.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { said } from '../words.ts';

/**
 * What could not be done or loaded, as the service says it. `since`: when what is shown beside it
 * was read, 0 for never. `labels`: as the fields of the form are called, which the service knows by
 * other names.
 */
export function Failure(props: {
  error: unknown;
  retry?: () => void;
  since?: number;
  labels?: Record<string, string>;
}) {
  const { error, retry, since = 0, labels } = props;
  const { t } = useTranslation('common');
  const time = useTimeOf(since);
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle />}
      title={since > 0 ? t('not_updated', { time }) : t('went_wrong')}
      role="alert"
    >
      <Group justify="space-between">
        <Text size="sm">{messageOf(error, labels)}</Text>
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            {t('retry')}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** The day only where it is another than today. */
function useTimeOf(at: number): string {
  const moment = new Date(at);
  const isToday = moment.toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat(useLocale(), {
    ...(!isToday && { dateStyle: 'medium' }),
    timeStyle: 'short',
  }).format(moment);
}

export function messageOf(error: unknown, labels: Record<string, string> = {}): string {
  if (!(error instanceof Error)) return String(error);
  return Object.entries(labels).reduce(
    (text, [name, label]) =>
      text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), (_name, at: number) =>
        at === 0 ? label : `“${label}”`,
      ),
    said(error.message),
  );
}

/** For what was asked with a button, where the page itself stays as it is. */
export function showFailure(error: unknown): void {
  notice({ color: 'red', message: messageOf(error), autoClose: 8000 });
}
