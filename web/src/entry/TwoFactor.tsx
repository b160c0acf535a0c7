import { Anchor, Button, Checkbox, PinInput, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useFields, Problem, useSubmit } from '../components/Form.tsx';
import { authCall } from '../api.ts';
import { useAuthFailure } from '../auth-texts.ts';
import { Frame } from './Frame.tsx';
import { useContinue } from './signing-in.ts';
import { useQueryOf } from '../address.ts';
import { entrySearch } from './search.ts';
import { useTranslation } from '../i18n.ts';

/** The second step of signing in, for users with an authenticator app. */
export function TwoFactor() {
  const { t } = useTranslation('entry');
  const { to } = useQueryOf(entrySearch);
  const goOn = useContinue(to);
  const inWords = useAuthFailure();
  const { values, set, field, tick } = useFields({ code: '', trustDevice: false });
  const [backup, setBackup] = useState(false);
  const verify = useSubmit(
    async (code: string = values.code) => {
      const path = backup ? 'verify-backup-code' : 'verify-totp';
      await authCall(`/two-factor/${path}`, { ...values, code });
      await goOn();
    },
    { onError: () => set({ code: '' }) },
  );
  return (
    <Frame title={t('sign_in')}>
      <form onSubmit={verify.submit}>
        <Stack>
          {verify.error && <Problem text={inWords(verify.error)} />}
          {backup ? (
            <TextInput label={t('backup_code')} autoFocus required {...field('code')} />
          ) : (
            <>
              <Text size="sm">{t('code_text')}</Text>
              <PinInput
                length={6}
                type="number"
                oneTimeCode
                autoFocus
                onComplete={(full) => verify.mutate(full)}
                {...field('code')}
                aria-label={t('code')}
              />
            </>
          )}
          <Checkbox label={t('trust')} {...tick('trustDevice')} />
          <Button type="submit" loading={verify.isPending}>
            {t('verify')}
          </Button>
          <Anchor
            component="button"
            type="button"
            size="sm"
            onClick={() => (setBackup(!backup), set({ code: '' }))}
          >
            {t(backup ? 'use_app' : 'backup')}
          </Anchor>
        </Stack>
      </form>
    </Frame>
  );
}
