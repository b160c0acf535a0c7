import { Card, Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { Team } from '../../api-types.ts';
import { Form, useFields } from '../../components/Form.tsx';
import { notice } from '../../components/frame/notice.ts';
import { Heading } from '../../components/styles.ts';
import { useAccountKey } from '../../queries.ts';
import { useAccountApi } from '../../session.tsx';
import { useTranslation } from '../../i18n.ts';

/** Further lines about the account on its receipts. */
export function BilledTo({ before }: { before: string | null }) {
  const { t } = useTranslation('team');
  const api = useAccountApi();
  const key = useAccountKey()('GET /team', {});
  const queries = useQueryClient();
  const { values, set, field } = useFields({ billed_to: before ?? '' });
  const save = async () => {
    const { billed_to } = await api('PUT /billed-to', { body: values });
    set({ billed_to: billed_to ?? '' });
    queries.setQueryData<Team>(key, (team) => team && { ...team, billed_to });
    notice({ message: t('billed_to_saved') });
  };
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Heading mb="md">{t('billed_to')}</Heading>
      <Form
        onSubmit={save}
        action={t('save_billed_to')}
        disabled={values.billed_to.trim() === (before ?? '')}
        gap="sm"
      >
        <Textarea
          label={t('billed_to_label')}
          description={t('billed_to_text')}
          maxLength={500}
          autosize
          minRows={3}
          maxRows={8}
          w="100%"
          {...field('billed_to')}
        />
      </Form>
    </Card>
  );
}
