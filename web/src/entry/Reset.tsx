import { Anchor, PasswordInput, Text, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { typed } from '../components/typed.ts';
import { authCall } from '../api.ts';
import { useAuthFailure } from '../auth-words.ts';
import { Form, Problem } from '../components/Form.tsx';
import { Frame } from './Frame.tsx';
import { useSettings } from './signing-in.ts';
import { useQueryOf } from '../address.ts';
import { entrySearch } from './search.ts';

export function Forgot() {
  const { t } = useTranslation('entry');
  const settings = useSettings();
  const inWords = useAuthFailure();
  const [email, setEmail] = useState('');
  const [sent, setSent] = useState(false);
  const submit = async () => {
    await authCall('/request-password-reset', { email, redirectTo: '/reset' });
    setSent(true);
  };
  return (
    <Frame title={t('forgot_title')}>
      {settings && !settings.has_mail && <Text>{t('forgot_operator')}</Text>}
      {sent && <Text role="status">{t('link_sent', { email })}</Text>}
      {settings?.has_mail && !sent && (
        <Form onSubmit={submit} action={t('send_link')} inWords={inWords} wide>
          <Text size="sm">{t('forgot_text')}</Text>
          <TextInput
            label={t('email')}
            type="email"
            autoComplete="username"
            required
            {...typed(email, setEmail)}
          />
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
  const [newPassword, setPassword] = useState('');
  const [done, setDone] = useState(false);
  const submit = async () => {
    await authCall('/reset-password', { newPassword, token });
    setDone(true);
  };
  return (
    <Frame title={t('reset_title')}>
      {error && <Problem text={t('reset_bad')} />}
      {done && <Text role="status">{t('reset_done')}</Text>}
      {!done && token !== undefined && (
        <Form onSubmit={submit} action={t('reset_title')} inWords={inWords} wide>
          <PasswordInput
            label={t('new_password')}
            description={t('password_hint', { min })}
            autoComplete="new-password"
            minLength={min}
            required
            {...typed(newPassword, setPassword)}
          />
        </Form>
      )}
      <Anchor component={Link} to="/sign-in" size="sm" ta="center">
        {t('sign_in')}
      </Anchor>
    </Frame>
  );
}
