import { Alert, Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { authCall } from '../api.ts';
import { useAuthFailure } from '../auth-words.ts';
import { Frame } from './Frame.tsx';
import { useSettings } from './signing-in.ts';

export function Forgot() {
  const { t } = useTranslation('entry');
  const settings = useSettings();
  const inWords = useAuthFailure();
  const [email, setEmail] = useState('');
  const [state, setState] = useState<'asking' | 'busy' | 'sent'>('asking');
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setState('busy');
    setProblem(null);
    try {
      await authCall('/request-password-reset', { email, redirectTo: '/reset' });
      setState('sent');
    } catch (error) {
      setProblem(inWords(error));
      setState('asking');
    }
  };
  return (
    <Frame title={t('forgot_title')}>
      {settings && !settings.has_mail && <Text>{t('forgot_operator')}</Text>}
      {state === 'sent' && <Text role="status">{t('link_sent', { email })}</Text>}
      {settings?.has_mail && state !== 'sent' && (
        <form onSubmit={(event) => void submit(event)}>
          <Stack>
            <Text size="sm">{t('forgot_text')}</Text>
            {problem && (
              <Alert color="red" role="alert">
                {problem}
              </Alert>
            )}
            <TextInput
              label={t('email')}
              type="email"
              autoComplete="username"
              required
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <Button type="submit" loading={state === 'busy'}>
              {t('send_link')}
            </Button>
          </Stack>
        </form>
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
  const { token, error } = useSearch({ strict: false });
  const settings = useSettings();
  const inWords = useAuthFailure();
  const [newPassword, setPassword] = useState('');
  const [state, setState] = useState<'asking' | 'busy' | 'done'>('asking');
  const [problem, setProblem] = useState<string | null>(error ? t('reset_bad') : null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setState('busy');
    try {
      await authCall('/reset-password', { newPassword, token });
      setState('done');
    } catch (failure) {
      setProblem(inWords(failure));
      setState('asking');
    }
  };
  return (
    <Frame title={t('reset_title')}>
      {problem && (
        <Alert color="red" role="alert">
          {problem}
        </Alert>
      )}
      {state === 'done' ? (
        <Text role="status">{t('reset_done')}</Text>
      ) : (
        token !== undefined && (
          <form onSubmit={(event) => void submit(event)}>
            <Stack>
              <PasswordInput
                label={t('new_password')}
                description={t('password_hint', { min: settings?.password_min ?? 10 })}
                autoComplete="new-password"
                minLength={settings?.password_min ?? 10}
                required
                value={newPassword}
                onChange={(event) => setPassword(event.currentTarget.value)}
              />
              <Button type="submit" loading={state === 'busy'}>
                {t('reset_title')}
              </Button>
            </Stack>
          </form>
        )
      )}
      <Anchor component={Link} to="/sign-in" size="sm" ta="center">
        {t('sign_in')}
      </Anchor>
    </Frame>
  );
}
