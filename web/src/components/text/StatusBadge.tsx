import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Status } from '../../api-types.ts';

const colors: Record<Status, string> = {
  IN_QUEUE: 'gray',
  IN_PROGRESS: 'blue',
  COMPLETED: 'fare',
  FAILED: 'red',
  CANCELLED: 'gray',
};

export function StatusBadge({ status }: { status: Status }) {
  const { t } = useTranslation('common');
  return (
    <Badge color={colors[status]} variant="dot" tt="none" fw={500} miw="max-content">
      {t(`status.${status}`)}
    </Badge>
  );
}
