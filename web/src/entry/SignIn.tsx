import { Alert, Anchor, Button, Divider, Group, Stack, Text } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useFields, Problem } from '../components/Form.tsx';
import { PlainButton } from '../components/styles.ts';
import { ApiFailure } from '../api.ts';
import { useAuthFailure } from '../auth-texts.ts';
import { Frame } from './Frame.tsx';
import {
  sendVerification,
  signInElsewhere,
  signInWithPasskey,
  signInWithPassword,
  useContinue,
  useSettings,
} from './signing-in.ts';
import { QueryLink, useQueryOf } from '../address.ts';
import { entrySearch } from './search.ts';
import { EmailInput, Password } from '../components/inputs.ts';
import { useTranslation } from '../i18n.ts';

export function SignIn() {
  const { t } = useTranslation('entry');
  const { to, error: failed, confirmed } = useQueryOf(entrySearch);
  const navigate = useNavigate();
  const inWords = useAuthFailure();
  const goOn = useContinue(to);
  const settings = useSettings();
  const { values, field } = useFields({ email: '', password: '' });
  const { email, password } = values;
  // Set if an identity provider or a mailed link redirected here with an error code.
  const [problem, setProblem] = useState<string | null>(() =>
    failed === undefined
      ? null
      : inWords(new ApiFailure(0, { error: { message: failed, details: { reason: failed } } })),
  );
  const [unproven, setUnproven] = useState<'no' | 'yes' | 'sent'>('no');
  const [busy, setBusy] = useState(false);

  const attempt = async (work: () => Promise<boolean>) => {
    setBusy(true);
    setProblem(null);
    setUnproven('no');
    try {
      if (await work()) await navigate({ to: '/two-factor', search: { to } });
      else await goOn();
    } catch (error) {
      setProblem(inWords(error));
      if (error instanceof ApiFailure && error.reason === 'EMAIL_NOT_VERIFIED') setUnproven('yes');
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void attempt(() => signInWithPassword(email, password));
  };
  const leave = () => {
    setProblem(null);
    signInElsewhere(to).catch((error: unknown) => setProblem(inWords(error)));
  };
  const sendAgain = () => {
    sendVerification(email).then(
      () => setUnproven('sent'),
      (error: unknown) => setProblem(inWords(error)),
    );
  };

  return (
    <Frame title={t('sign_in')}>
      <form onSubmit={submit}>
        <Stack>
          {problem && (
            <Problem text={problem}>
              {unproven === 'yes' && (
                <Anchor component="button" type="button" size="sm" onClick={sendAgain}>
                  {t('send_again')}
                </Anchor>
              )}
            </Problem>
          )}
          {confirmed !== undefined && failed === undefined && (
            <Alert color="green" role="status">
              {t('confirmed')}
            </Alert>
          )}
          {unproven === 'sent' && <Text role="status">{t('link_sent', { email })}</Text>}
          <EmailInput
            label={t('email')}
            autoComplete="username webauthn"
            autoFocus
            {...field('email')}
          />
          <Password label={t('password')} {...field('password')} />
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
      <PlainButton
        leftSection={<IconFingerprint size={18} />}
        onClick={() => void attempt(async () => (await signInWithPasskey(), false))}
      >
        {t('passkey')}
      </PlainButton>
      {settings?.oidc_name && <PlainButton onClick={leave}>{settings.oidc_name}</PlainButton>}
      {settings?.sign_up === 'open' && (
        <Text size="sm" ta="center">
          {t('no_account')}{' '}
          <Anchor component={QueryLink} to="/sign-up" search={{ to }} size="sm">
            {t('sign_up')}
          </Anchor>
        </Text>
      )}
    </Frame>
  );
}
