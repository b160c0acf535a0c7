import { Button, Divider, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { call } from '../api.ts';
import { Failure, showFailure } from '../components/Failure.tsx';
import { keepAccount, useMe, meQuery, type Role } from '../session.tsx';
import { Frame } from './Frame.tsx';
import { useGoOn, useSettings } from './signing-in.ts';
import { SignUpForm } from './SignUp.tsx';

interface Invited {
  email: string;
  role: Role;
  account_name: string | null;
}

/** Where an invitation leads: who is signed in may accept it, others sign in or up first. */
export function Invitation() {
  const { t } = useTranslation('entry');
  const { t: common } = useTranslation('common');
  const { token = '' } = useSearch({ strict: false });
  const settings = useSettings();
  useQuery(meQuery);
  const me = useMe();
  const goOn = useGoOn('/cabinet');
  const here = `/invitation?token=${token}`;
  const invited = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => call<Invited>('/api/invitation', { body: { token } }),
    retry: false,
  });
  const accept = async () => {
    try {
      const body = { token };
      const { account_id } = await call<{ account_id: string | null }>('/api/invitation/accept', {
        body,
      });
      if (account_id) keepAccount(account_id);
      await goOn();
    } catch (error) {
      showFailure(error);
    }
  };
  const { data } = invited;
  return (
    <Frame title={t('invited')}>
      {invited.error && <Failure error={invited.error} />}
      {invited.isPending && <Skeleton h={60} />}
      {data && (
        <Stack>
          <Text>
            {data.account_name === null
              ? t('invited_alone')
              : t('invited_to', { account: data.account_name, role: common(`role.${data.role}`) })}
          </Text>
          {me?.email === data.email ? (
            <Button onClick={() => void accept()}>{t('accept')}</Button>
          ) : (
            <>
              <Text size="sm" c="dimmed">
                {t('sign_in_first', { email: data.email })}
              </Text>
              <Button
                component={Link}
                to="/sign-in"
                search={{ to: here } as never}
                variant="default"
              >
                {t('sign_in')}
              </Button>
              <Divider label={t('or')} />
              <SignUpForm
                to="/cabinet"
                token={token}
                email={data.email}
                min={settings?.password_min ?? 10}
                onSent={() => {}}
              />
            </>
          )}
        </Stack>
      )}
    </Frame>
  );
}
