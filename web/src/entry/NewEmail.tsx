import { Alert, Anchor, Button, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api } from '../api.ts';
import { messageOf } from '../components/Failure.tsx';
import { meQuery, useMe } from '../session.tsx';
import { Frame } from './Frame.tsx';

/**
 * The page that the letter to a new address links to. It waits for a click: mail programs open
 * links by themselves.
 */
export function NewEmail() {
  const { t } = useTranslation('entry');
  const { token = '' } = useSearch({ strict: false });
  const me = useMe();
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [email, setEmail] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setEmail((await api('POST /api/email', { body: { token } })).email);
      await queries.invalidateQueries({ queryKey: meQuery.queryKey });
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Frame title={t('email_title')}>
      <Stack>
        {problem && (
          <Alert color="red" role="alert">
            {problem}
          </Alert>
        )}
        {email === null ? (
          <>
            <Text size="sm">{t('email_text')}</Text>
            <Button onClick={() => void confirm()} loading={busy}>
              {t('email_confirm')}
            </Button>
          </>
        ) : (
          <Text role="status">{t('email_done', { email })}</Text>
        )}
        <Anchor component={Link} to={me ? '/cabinet' : '/sign-in'} size="sm" ta="center">
          {me ? t('to_cabinet') : t('sign_in')}
        </Anchor>
      </Stack>
    </Frame>
  );
}
