import {
  Alert,
  Anchor,
  Button,
  Divider,
  Group,
  PasswordInput,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiFailure, call } from '../api.ts';
import { messageOf } from '../components/Failure.tsx';
import { Frame } from './Frame.tsx';
import { signInWithPasskey, signInWithPassword, useGoOn, useSettings } from './signing-in.ts';

export function SignIn() {
  const { t } = useTranslation('entry');
  const { to } = useSearch({ strict: false });
  const navigate = useNavigate();
  const goOn = useGoOn(to);
  const settings = useSettings();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  const attempt = async (work: () => Promise<boolean>) => {
    setBusy(true);
    setProblem(null);
    try {
      if (await work()) await navigate({ to: '/two-factor', search: { to } });
      else await goOn();
    } catch (error) {
      setProblem(inWords(error));
    } finally {
      setBusy(false);
    }
  };
  const inWords = (error: unknown): string => {
    if (error instanceof ApiFailure && error.status === 401) return t('wrong');
    if (error instanceof ApiFailure && error.status === 403) return t('unverified');
    return messageOf(error);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void attempt(() => signInWithPassword(email, password));
  };
  const single = async () => {
    const answer = await call<{ url: string }>('/api/auth/sign-in/oauth2', {
      body: { providerId: 'oidc', callbackURL: to ?? '/cabinet', errorCallbackURL: '/sign-in' },
    });
    location.assign(answer.url);
    return false;
  };

  return (
    <Frame title={t('sign_in')}>
      <form onSubmit={submit}>
        <Stack>
          {problem && (
            <Alert color="red" role="alert">
              {problem}
            </Alert>
          )}
          <TextInput
            label={t('email')}
            type="email"
            autoComplete="username webauthn"
            required
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <PasswordInput
            label={t('password')}
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <Group justify="flex-end" mt={-8}>
            <Anchor component={Link} to="/forgot" size="sm">
              {t('forgot')}
            </Anchor>
          </Group>
          <Button type="submit" loading={busy}>
            {t('sign_in')}
          </Button>
        </Stack>
      </form>
      <Divider label={t('or')} labelPosition="center" />
      <Button
        variant="default"
        leftSection={<IconFingerprint size={18} />}
        onClick={() => void attempt(async () => (await signInWithPasskey(), false))}
      >
        {t('passkey')}
      </Button>
      {settings?.oidc_name && (
        <Button variant="default" onClick={() => void attempt(single)}>
          {settings.oidc_name}
        </Button>
      )}
      {(!settings || settings.sign_up === 'open') && (
        // Its room is kept until it is known, so that nothing jumps.
        <Text size="sm" ta="center" style={{ visibility: settings ? 'visible' : 'hidden' }}>
          {t('no_account')}{' '}
          <Anchor component={Link} to="/sign-up" size="sm">
            {t('sign_up')}
          </Anchor>
        </Text>
      )}
    </Frame>
  );
}
