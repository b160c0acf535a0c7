import { Button, Card, Group } from '@mantine/core';
import { useFields, useSubmit } from '../../components/Form.tsx';
import { Heading } from '../../components/styles.ts';
import { notice } from '../../components/frame/notice.ts';
import { useQueryClient } from '@tanstack/react-query';
import { showFailure } from '../../components/Failure.tsx';
import { useAccount, useAccountApi, meQuery } from '../../session.tsx';
import { NameInput } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

/** The account's name, shown in the account switch and in invitations. */
export function AccountName() {
  const { t } = useTranslation('team');
  const account = useAccount();
  const api = useAccountApi();
  const queries = useQueryClient();
  const { values, field } = useFields({ name: account.name });
  const save = useSubmit(
    async () => {
      await api('PATCH /account', { body: values });
      await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    },
    { onSuccess: () => notice({ message: t('name_saved') }), onError: showFailure },
  );
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Heading mb="md">{t('common:account')}</Heading>
      <form onSubmit={save.submit}>
        <Group align="flex-end" gap="sm">
          <NameInput
            label={t('account_name')}
            description={t('account_name_text')}
            flex="1 1 240px"
            {...field('name')}
          />
          <Button
            type="submit"
            loading={save.isPending}
            disabled={['', account.name].includes(values.name.trim())}
          >
            {t('common:save')}
          </Button>
        </Group>
      </form>
    </Card>
  );
}
