import { Badge, Group } from '@mantine/core';
import { RowButton } from '../components/styles.ts';
import { PageTitle } from '../components/frame/PageTitle.tsx';
import { actionName, LogList, useLog } from './LogList.tsx';
import './log-texts.ts';
import { useAddress } from './search.ts';
import { FilterSelect } from '../components/list/FilterSelect.tsx';
import { namesBelow, useTranslation } from '../i18n.ts';

/** The log of what operators did. */
export function Log() {
  const { t } = useTranslation('operator_log');
  const [{ by, action, account }, setAddress] = useAddress('/operator/log');
  const query = { by, action, account_id: account };
  const { first } = useLog(query);
  const authors = [...new Set([...(first?.authors ?? []), ...(by ? [by] : [])])];
  return (
    <>
      <PageTitle title={t('common:nav.log')} text={t('text')} />
      <Group mb="md" gap="sm">
        <FilterSelect
          label={t('did')}
          all={t('all_actions')}
          data={actions(action).map((value) => ({ value, label: actionName(t, value) }))}
          searchable
          value={action}
          onChange={(value) => setAddress({ action: value })}
          width={260}
          clearButtonProps={{ 'aria-label': t('clear') }}
        />
        <FilterSelect
          label={t('by')}
          all={t('all_people')}
          data={authors}
          value={by}
          onChange={(value) => setAddress({ by: value })}
          width={260}
          clearButtonProps={{ 'aria-label': t('clear') }}
        />
        {account !== undefined && (
          <Group gap="xs">
            <Badge variant="outline" color="gray" c="var(--mantine-color-text)">
              {t('only_account')}
            </Badge>
            <RowButton onClick={() => setAddress({ account: undefined })}>{t('clear')}</RowButton>
          </Group>
        )}
      </Group>
      <LogList query={query} />
    </>
  );
}

/** Actions that have a text, and the one that the address asks for. */
function actions(wanted: string | undefined): string[] {
  const named = namesBelow('operator_log', 'action').map((name) => name.replace('_', '.'));
  return wanted === undefined || named.includes(wanted) ? named : [...named, wanted];
}
