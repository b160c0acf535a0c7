import { useTranslation } from 'react-i18next';
import { Dot } from '../styles.ts';
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
    <Dot color={colors[status]} miw="max-content">
      {t(`status.${status}`)}
    </Dot>
  );
}
