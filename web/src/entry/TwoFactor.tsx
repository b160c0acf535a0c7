import { Alert, Anchor, Button, Checkbox, PinInput, Stack, Text, TextInput } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { authCall } from '../api.ts';
import { useAuthFailure } from '../auth-words.ts';
import { Frame } from './Frame.tsx';
import { useGoOn } from './signing-in.ts';

/** The second step of signing in, for users with an authenticator app. */
export function TwoFactor() {
  const { t } = useTranslation('entry');
  const { to } = useSearch({ strict: false });
  const goOn = useGoOn(to);
  const inWords = useAuthFailure();
  const [code, setCode] = useState('');
  const [backup, setBackup] = useState(false);
  const [trustDevice, setTrust] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const verify = async (given: string) => {
    setBusy(true);
    setProblem(null);
    try {
      const path = backup ? 'verify-backup-code' : 'verify-totp';
      await authCall(`/two-factor/${path}`, { code: given, trustDevice });
      await goOn();
    } catch (error) {
      setProblem(inWords(error));
      setCode('');
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void verify(code);
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
          {backup ? (
            <TextInput
              label={t('backup_code')}
              autoFocus
              required
              value={code}
              onChange={(event) => setCode(event.currentTarget.value)}
            />
          ) : (
            <>
              <Text size="sm">{t('code_text')}</Text>
              <PinInput
                length={6}
                type="number"
                oneTimeCode
                autoFocus
                value={code}
                onChange={setCode}
                onComplete={(full) => void verify(full)}
                aria-label={t('code')}
              />
            </>
          )}
          <Checkbox
            label={t('trust')}
            checked={trustDevice}
            onChange={(event) => setTrust(event.currentTarget.checked)}
          />
          <Button type="submit" loading={busy}>
            {t('verify')}
          </Button>
          <Anchor
            component="button"
            type="button"
            size="sm"
            onClick={() => (setBackup(!backup), setCode(''))}
          >
            {t(backup ? 'use_app' : 'backup')}
          </Anchor>
        </Stack>
      </form>
    </Frame>
  );
}
