import { Button, Card, Group, TextInput } from '@mantine/core';
import { typed } from '../../components/typed.ts';
import { Heading } from '../../components/styles.ts';
import { notice } from '../../components/frame/notice.ts';
import { useQueryClient, useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { showFailure } from '../../components/Failure.tsx';
import { useAccount, useAccountApi, meQuery } from '../../session.tsx';

/** The account's name, shown in the account switch and in invitations. */
export function AccountName() {
  const { t } = useTranslation('team');
  const account = useAccount();
  const api = useAccountApi();
  const queries = useQueryClient();
  const [name, setName] = useState(account.name);
  const save = useMutation({
    mutationFn: async () => {
      await api('PATCH /account', { body: { name } });
      await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    },
    onSuccess: () => notice({ message: t('name_saved') }),
    onError: showFailure,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Heading mb="md">{t('common:account')}</Heading>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="sm">
          <TextInput
            label={t('account_name')}
            description={t('account_name_text')}
            maxLength={100}
            required
            flex="1 1 240px"
            {...typed(name, setName)}
          />
          <Button
            type="submit"
            loading={save.isPending}
            disabled={name.trim() === '' || name.trim() === account.name}
          >
            {t('common:save')}
          </Button>
        </Group>
      </form>
    </Card>
  );
}
