import { Alert, Anchor, Select } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { Key } from '../../api-types.ts';
import { useTranslation } from '../../i18n.ts';

export type Scope = Key['scope'];

/** Chooses the rights of a new key. */
export function KeyScope({ scope, onChange }: { scope: Scope; onChange: (scope: Scope) => void }) {
  const { t } = useTranslation('keys');
  return (
    <Select
      label={t('scope')}
      data={(['spend', 'keys'] as const).map((value) => ({ value, label: t(`scope_${value}`) }))}
      value={scope}
      allowDeselect={false}
      onChange={(value) => onChange(value ?? 'spend')}
    />
  );
}

/** Warns of what a key that manages keys can do. Shown when one is created or changed. */
export function ManagerWarning() {
  const { t } = useTranslation('keys');
  return (
    <Alert color="yellow" icon={<IconAlertTriangle />}>
      {t('manager_text')}{' '}
      <Anchor size="sm" href="/docs/api/keys" target="_blank">
        {t('manager_more')}
      </Anchor>
    </Alert>
  );
}
