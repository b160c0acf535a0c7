import { Button, Divider, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { QueryLink, useQueryOf } from '../address.ts';
import { useState } from 'react';
import { Dimmed, PlainButton } from '../components/styles.ts';
import { api, authCall } from '../api.ts';
import { Failure, showFailure } from '../components/Failure.tsx';
import type { Invitation as Invited, Me } from '../api-types.ts';
import { keepAccount, useMe } from '../session.tsx';
import { Frame } from './Frame.tsx';
import { useContinue, useSettings } from './signing-in.ts';
import { SignUpForm } from './SignUp.tsx';
import { entrySearch } from './search.ts';
import { useTranslation } from '../i18n.ts';

/**
 * The page that an invitation links to. A signed-in user may accept it; others sign in or up first.
 */
export function Invitation() {
  const { t } = useTranslation('entry');
  const { token = '' } = useQueryOf(entrySearch);
  const me = useMe();
  const [sent, setSent] = useState<string | null>(null);
  const invited = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => api('POST /api/invitation', { body: { token } }),
    retry: false,
    staleTime: Infinity,
  });
  if (sent !== null) {
    return (
      <Frame title={t('check_mail_title')}>
        <Text>{t('check_mail', { email: sent })}</Text>
      </Frame>
    );
  }
  const { data } = invited;
  return (
    <Frame title={t('invited')}>
      {invited.error && <Failure error={invited.error} />}
      {invited.error && me && (
        <PlainButton component={Link} to="/dashboard">
          {t('to_dashboard')}
        </PlainButton>
      )}
      {(invited.isPending || (data && me === undefined)) && <Skeleton h={300} />}
      {data && me !== undefined && (
        <Stack>
          <Text>
            {data.account_name === null
              ? t('invited_alone')
              : t('invited_to', {
                  account: data.account_name,
                  role: t(`common:role.${data.role}`),
                })}
          </Text>
          {me === null && <Newcomer token={token} invited={data} onSent={setSent} />}
          {me && <SignedIn token={token} invited={data} me={me} />}
        </Stack>
      )}
    </Frame>
  );
}

/** Signs in, or signs up with the invited address. */
function Newcomer(props: { token: string; invited: Invited; onSent: (email: string) => void }) {
  const { t } = useTranslation('entry');
  const settings = useSettings();
  const { token, invited } = props;
  const isClosed = settings?.sign_up === 'closed';
  return (
    <>
      <Dimmed>
        {isClosed ? t('closed_invited') : t('sign_in_first', { email: invited.email })}
      </Dimmed>
      <PlainButton
        component={QueryLink}
        to="/sign-in"
        search={{ to: `/invitation?token=${token}` }}
      >
        {t('sign_in')}
      </PlainButton>
      {settings && !isClosed && (
        <>
          <Divider label={t('or')} />
          <SignUpForm
            to="/dashboard"
            token={token}
            email={invited.email}
            min={settings.password_min}
            onSent={props.onSent}
          />
        </>
      )}
    </>
  );
}

function SignedIn({ token, invited, me }: { token: string; invited: Invited; me: Me }) {
  const { t } = useTranslation('entry');
  const goOn = useContinue('/dashboard');
  const accept = async () => {
    try {
      const answer = await api('POST /api/invitation/accept', { body: { token } });
      if (answer.account_id) keepAccount(answer.account_id);
      await goOn();
    } catch (error) {
      showFailure(error);
    }
  };
  const signOut = async () => {
    await authCall('/sign-out', {});
    location.reload();
  };
  if (me.email === invited.email)
    return <Button onClick={() => void accept()}>{t('accept')}</Button>;
  return (
    <>
      <Text size="sm">{t('signed_in_as', { me: me.email, email: invited.email })}</Text>
      <PlainButton onClick={() => void signOut()}>{t('sign_out_first')}</PlainButton>
    </>
  );
}
