import { Anchor, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useFields, Form, Problem } from '../components/Form.tsx';
import { authCall } from '../api.ts';
import { useAuthFailure } from '../auth-texts.ts';
import { Frame } from './Frame.tsx';
import { useSettings } from './signing-in.ts';
import { useQueryOf } from '../address.ts';
import { entrySearch } from './search.ts';
import { EmailInput, NewPassword } from '../components/inputs.ts';
import { useTranslation } from '../i18n.ts';

export function Forgot() {
  const { t } = useTranslation('entry');
  const settings = useSettings();
  const inWords = useAuthFailure();
  const { values, field } = useFields({ email: '' });
  const [sent, setSent] = useState(false);
  const submit = async () => {
    await authCall('/request-password-reset', { ...values, redirectTo: '/reset' });
    setSent(true);
  };
  return (
    <Frame title={t('forgot_title')}>
      {settings && !settings.has_mail && <Text>{t('forgot_operator')}</Text>}
      {sent && <Text role="status">{t('link_sent', values)}</Text>}
      {settings?.has_mail && !sent && (
        <Form onSubmit={submit} action={t('send_link')} inWords={inWords} wide>
          <Text size="sm">{t('forgot_text')}</Text>
          <EmailInput label={t('email')} autoComplete="username" {...field('email')} />
        </Form>
      )}
      <Anchor component={Link} to="/sign-in" size="sm" ta="center">
        {t('sign_in')}
      </Anchor>
    </Frame>
  );
}

/** The page a password reset links to. */
export function Reset() {
  const { t } = useTranslation('entry');
  const { token, error } = useQueryOf(entrySearch);
  const min = useSettings()?.password_min ?? 10;
  const inWords = useAuthFailure();
  const { values, field } = useFields({ newPassword: '' });
  const [done, setDone] = useState(false);
  const submit = async () => {
    await authCall('/reset-password', { ...values, token });
    setDone(true);
  };
  return (
    <Frame title={t('reset_title')}>
      {error && <Problem text={t('reset_bad')} />}
      {done && <Text role="status">{t('reset_done')}</Text>}
      {!done && token !== undefined && (
        <Form onSubmit={submit} action={t('reset_title')} inWords={inWords} wide>
          <NewPassword
            label={t('new_password')}
            description={t('password_hint', { min })}
            minLength={min}
            {...field('newPassword')}
          />
        </Form>
      )}
      <Anchor component={Link} to="/sign-in" size="sm" ta="center">
        {t('sign_in')}
      </Anchor>
    </Frame>
  );
}
