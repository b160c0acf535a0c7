import { Anchor, Button, Checkbox, PinInput, Stack, Text, TextInput } from '@mantine/core';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useMutation } from '@tanstack/react-query';
import { typed } from '../components/typed.ts';
import { authCall } from '../api.ts';
import { useAuthFailure } from '../auth-words.ts';
import { Frame } from './Frame.tsx';
import { useGoOn } from './signing-in.ts';
import { Problem } from '../components/Form.tsx';
import { useQueryOf } from '../address.ts';
import { entrySearch } from './search.ts';

/** The second step of signing in, for users with an authenticator app. */
export function TwoFactor() {
  const { t } = useTranslation('entry');
  const { to } = useQueryOf(entrySearch);
  const goOn = useGoOn(to);
  const inWords = useAuthFailure();
  const [code, setCode] = useState('');
  const [backup, setBackup] = useState(false);
  const [trustDevice, setTrust] = useState(false);
  const verify = useMutation({
    mutationFn: async (given: string) => {
      const path = backup ? 'verify-backup-code' : 'verify-totp';
      await authCall(`/two-factor/${path}`, { code: given, trustDevice });
      await goOn();
    },
    onError: () => setCode(''),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    verify.mutate(code);
  };
  return (
    <Frame title={t('sign_in')}>
      <form onSubmit={submit}>
        <Stack>
          {verify.error && <Problem text={inWords(verify.error)} />}
          {backup ? (
            <TextInput label={t('backup_code')} autoFocus required {...typed(code, setCode)} />
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
                onComplete={(full) => verify.mutate(full)}
                aria-label={t('code')}
              />
            </>
          )}
          <Checkbox
            label={t('trust')}
            checked={trustDevice}
            onChange={(event) => setTrust(event.currentTarget.checked)}
          />
          <Button type="submit" loading={verify.isPending}>
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
