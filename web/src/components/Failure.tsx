import { Alert, Box, Group, Text } from '@mantine/core';
import { Note, RowButton } from './styles.ts';
import { useMoment } from './text.tsx';
import { notice } from './frame/notice.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { ApiFailure, InWords, ServiceUnreachable } from '../api.ts';
import { errorText, translate, useTranslation } from '../i18n.ts';

/** Its tooltip would make the first page heavier. A box of its size stands in its place. */
const Copy = lazy(async () => ({ default: (await import('./Copy.tsx')).Copy }));

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
        <Box miw={0}>
          <Text size="sm">{messageOf(error, labels)}</Text>
          <ForTheOperator error={error} />
        </Box>
        {retry && <RowButton onClick={retry}>{t('retry')}</RowButton>}
      </Group>
    </Alert>
  );
}

/** Shows the number of the call, or the fault of the page, by which the operator finds the cause. */
export function ForTheOperator({ error }: { error: unknown }) {
  const { t } = useTranslation('common');
  if (error instanceof InWords || error instanceof ServiceUnreachable) return null;
  const id = error instanceof ApiFailure ? error.call_id : null;
  if (id === null && error instanceof ApiFailure) return null;
  const what = t(id === null ? 'fault' : 'call_id');
  return (
    <Group gap={4} mt={4}>
      <Note c="inherit">
        {what} {id !== null && <span translate="no">{id}</span>}
      </Note>
      <Suspense fallback={<Box w={28} h={28} />}>
        <Copy text={id ?? faultOf(error)} what={what} />
      </Suspense>
    </Group>
  );
}

function faultOf(error: unknown): string {
  const at = `${new Date().toISOString()} ${location.pathname}`;
  return `${at}\n${error instanceof Error ? error.stack : String(error)}`;
}

/** The time of `at`, with the date unless it is today. */
function useTimeOf(at: number): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  return useMoment({ ...(!isToday && { dateStyle: 'medium' }), timeStyle: 'short' })(at);
}

export function messageOf(error: unknown, labels: Record<string, string> = {}): string {
  return Object.entries(labels).reduce(
    (text, [name, label]) =>
      text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), (_name, at: number) =>
        at === 0 ? label : `“${label}”`,
      ),
    textOf(error),
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
