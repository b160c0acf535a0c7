import { Alert, Group, Text } from '@mantine/core';
import { RowButton } from './styles.ts';
import { useMoment } from './text.tsx';
import { notice } from './frame/notice.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { ApiFailure, Unreachable } from '../api.ts';
import { errorText, translate, useTranslation } from '../i18n.ts';

/**
 * An error of a load or an action, in the service's words. `since`: when the data beside it was
 * loaded, 0 for never. `labels`: the labels of form fields, by the names that the service uses.
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
      icon={<IconAlertTriangle />}
      title={since > 0 ? t('not_updated', { time }) : t('went_wrong')}
      role="alert"
    >
      <Group justify="space-between">
        <Text size="sm">{messageOf(error, labels)}</Text>
        {retry && <RowButton onClick={retry}>{t('retry')}</RowButton>}
      </Group>
    </Alert>
  );
}

/** The time of `at`, with the date unless it is today. */
function useTimeOf(at: number): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  return useMoment({ ...(!isToday && { dateStyle: 'medium' }), timeStyle: 'short' })(at);
}

export function messageOf(error: unknown, labels: Record<string, string> = {}): string {
  if (!(error instanceof Error)) return String(error);
  return Object.entries(labels).reduce(
    (text, [name, label]) =>
      text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), (_name, at: number) =>
        at === 0 ? label : `“${label}”`,
      ),
    error instanceof ApiFailure || error instanceof Unreachable ? said(error) : error.message,
  );
}

/** A fault of the page itself is no text for its user. */
function textOf(error: unknown): string {
  if (error instanceof ApiFailure || error instanceof ServiceUnreachable) return errorText(error);
  return error instanceof InWords ? error.message : translate('common:crashed');
}

/** Shows the error of an action that leaves the page as it was. */
export function showFailure(error: unknown): void {
  notice({ color: 'red', message: messageOf(error), autoClose: 8000 });
}
