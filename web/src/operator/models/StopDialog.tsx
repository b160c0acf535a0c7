import { List, TextInput } from '@mantine/core';
import type { CatalogRowDetail } from '../../api-types.ts';
import { useFields } from '../../components/Form.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { useAction } from '../action.ts';
import { useTranslation } from '../../i18n.ts';
import './catalog-texts.ts';

/** Says what the end of a model's sale does and whom it touches, and asks for a reason. */
export function StopDialog({ row, onClose }: { row: CatalogRowDetail; onClose: () => void }) {
  const { t } = useTranslation('operator_catalog');
  const act = useAction();
  const { values, field } = useFields({ status_note: '', reason: '' });
  const { waiting, running } = row.open;
  const given = Object.fromEntries(Object.entries(values).filter(([, text]) => text.trim() !== ''));
  const stop = () =>
    act(
      'PATCH /models/*',
      { params: { '*': row.id }, body: { status: 'stopped', ...given } },
      t('stopped_now', { name: row.name }),
    );
  return (
    <FormModal
      onClose={onClose}
      title={t('stop_title', { name: row.name })}
      submit={t('stop')}
      danger
      onSubmit={stop}
    >
      <List size="sm" spacing={4}>
        <List.Item>{t('stop_new')}</List.Item>
        <List.Item>{t('stop_waiting', { count: waiting })}</List.Item>
        <List.Item>{t('stop_running', { count: running })}</List.Item>
      </List>
      <TextInput
        label={t('note')}
        description={t('note_text')}
        maxLength={300}
        {...field('status_note')}
      />
      <TextInput label={t('log_reason')} maxLength={500} {...field('reason')} />
    </FormModal>
  );
}
