import './settings-texts.ts';
import { Skeleton, Stack } from '@mantine/core';
import { Form, useFields } from '../../components/Form.tsx';
import { notice } from '../../components/frame/notice.ts';
import { IconUser } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api.ts';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import type { Me } from '../../api-types.ts';
import { meQuery, useMe } from '../../session.tsx';
import { Authenticator } from './Authenticator.tsx';
import { Browsers } from './Browsers.tsx';
import { EmailCard } from './Email.tsx';
import { Passkeys } from './Passkeys.tsx';
import { PasswordCard } from './Password.tsx';
import { securityQuery } from './security.ts';
import { SettingsCard } from './SettingsCard.tsx';
import { NameInput } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

/** The user's name and ways to sign in. */
export function Settings() {
  const { t } = useTranslation('settings');
  const me = useMe();
  const security = useQuery(securityQuery);
  if (!me) return null;
  return (
    <>
      <PageTitle title={t('common:settings')} text={t('text')} />
      <Stack maw={780} gap="lg">
        <Profile me={me} />
        {security.error && <Failure error={security.error} retry={() => void security.refetch()} />}
        {security.isPending && [1, 2, 3].map((n) => <Skeleton key={n} h={130} radius="md" />)}
        {security.data && (
          <>
            <EmailCard me={me} hasPassword={security.data.has_password} />
            <PasswordCard hasPassword={security.data.has_password} />
            <Authenticator me={me} hasPassword={security.data.has_password} />
            <Passkeys />
            <Browsers sessions={security.data.sessions} />
          </>
        )}
      </Stack>
    </>
  );
}

function Profile({ me }: { me: Me }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const { values, field } = useFields({ name: me.name });
  const isSame = ['', me.name].includes(values.name.trim());
  const save = async () => {
    await api('PATCH /api/me', { body: values });
    await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    notice({ message: t('name_saved') });
  };
  return (
    <SettingsCard icon={<IconUser size={20} />} title={t('profile')} text={t('profile_text')}>
      <Form onSubmit={save} action={t('common:save')} disabled={isSame} gap="sm">
        <NameInput label={t('name')} autoComplete="name" {...field('name')} />
      </Form>
    </SettingsCard>
  );
}
