import { Alert, Button, Group, Text } from '@mantine/core';
import { notice } from './notice.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { ApiFailure } from '../api.ts';
import { said } from '../words.ts';

/** What could not be done or loaded, as the service says it. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useTranslation('common');
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle />}
      title={t('went_wrong')}
      role="alert"
    >
      <Group justify="space-between">
        <Text size="sm">{messageOf(error)}</Text>
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            {t('retry')}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** `labels`: as the fields of the form are called, which the service knows by other names. */
export function messageOf(error: unknown, labels: Record<string, string> = {}): string {
  if (!(error instanceof Error)) return String(error);
  const text = said(error.message);
  const name = error instanceof ApiFailure ? error.param : null;
  const label = name === null ? undefined : labels[name];
  return label && text.startsWith(name!) ? `${label}${text.slice(name!.length)}` : text;
}

/** For what was asked with a button, where the page itself stays as it is. */
export function showFailure(error: unknown): void {
  notice({ color: 'red', message: messageOf(error), autoClose: 8000 });
}
