import { Card } from '@mantine/core';
import { Form, useFields } from '../../components/Form.tsx';
import { Heading } from '../../components/styles.ts';
import { notice } from '../../components/frame/notice.ts';
import { useQueryClient } from '@tanstack/react-query';
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
  const save = async () => {
    await api('PATCH /account', { body: values });
    await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    notice({ message: t('name_saved') });
  };
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Heading mb="md">{t('common:account')}</Heading>
      <Form
        onSubmit={save}
        action={t('common:save')}
        disabled={['', account.name].includes(values.name.trim())}
        gap="sm"
      >
        <NameInput
          label={t('account_name')}
          description={t('account_name_text')}
          maw={480}
          {...field('name')}
        />
      </Form>
    </Card>
  );
}
