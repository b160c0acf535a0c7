import { Button, Card, Stack, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { Team } from '../../api-types.ts';
import { showFailure } from '../../components/Failure.tsx';
import { notice } from '../../components/frame/notice.ts';
import { Heading } from '../../components/styles.ts';
import { useAccountKey } from '../../queries.ts';
import { useAccountApi } from '../../session.tsx';

/** Further lines about the account on its receipts. */
export function BilledTo({ before }: { before: string | null }) {
  const { t } = useTranslation('team');
  const api = useAccountApi();
  const key = useAccountKey()('GET /team', {});
  const queries = useQueryClient();
  const [lines, setLines] = useState(before ?? '');
  const save = useMutation({
    mutationFn: () => api('PUT /billed-to', { body: { billed_to: lines } }),
    onSuccess: ({ billed_to }) => {
      setLines(billed_to ?? '');
      queries.setQueryData<Team>(key, (team) => team && { ...team, billed_to });
      notice({ message: t('billed_to_saved') });
    },
    onError: showFailure,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Heading mb="md">{t('billed_to')}</Heading>
      <form onSubmit={submit}>
        <Stack gap="sm" align="flex-start">
          <Textarea
            label={t('billed_to_label')}
            description={t('billed_to_text')}
            maxLength={500}
            autosize
            minRows={3}
            maxRows={8}
            w="100%"
            value={lines}
            onChange={(event) => setLines(event.currentTarget.value)}
          />
          <Button type="submit" loading={save.isPending} disabled={lines.trim() === (before ?? '')}>
            {t('save_billed_to')}
          </Button>
        </Stack>
      </form>
    </Card>
  );
}
