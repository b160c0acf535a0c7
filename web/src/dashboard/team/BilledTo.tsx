import { Button, Card, Stack, Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { Team } from '../../api-types.ts';
import { showFailure } from '../../components/Failure.tsx';
import { useFields, useSubmit } from '../../components/Form.tsx';
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
  const save = useSubmit(() => api('PUT /billed-to', { body: values }), {
    onSuccess: ({ billed_to }) => {
      set({ billed_to: billed_to ?? '' });
      queries.setQueryData<Team>(key, (team) => team && { ...team, billed_to });
      notice({ message: t('billed_to_saved') });
    },
    onError: showFailure,
  });
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Heading mb="md">{t('billed_to')}</Heading>
      <form onSubmit={save.submit}>
        <Stack gap="sm" align="flex-start">
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
          <Button
            type="submit"
            loading={save.isPending}
            disabled={values.billed_to.trim() === (before ?? '')}
          >
            {t('save_billed_to')}
          </Button>
        </Stack>
      </form>
    </Card>
  );
}
