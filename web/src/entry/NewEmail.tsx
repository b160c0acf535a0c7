import { Anchor, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api.ts';
import { meQuery, useMe } from '../session.tsx';
import { Frame } from './Frame.tsx';
import { HolderForm } from './HolderForm.tsx';
import { useQueryOf } from '../address.ts';
import { entrySearch } from './search.ts';
import { useTranslation } from '../i18n.ts';

/**
 * The page that the mail to a new address links to. Waits for a click, because mail programs open
 * links by themselves.
 */
export function NewEmail() {
  const { t } = useTranslation('entry');
  const { token = '' } = useQueryOf(entrySearch);
  const me = useMe();
  const queries = useQueryClient();
  const [email, setEmail] = useState<string | null>(null);
  const confirm = async (given: { password?: string }) => {
    const changed = await api('POST /api/email', { body: { token, ...given } });
    await queries.invalidateQueries({ queryKey: meQuery.queryKey });
    setEmail(changed.email);
  };
  return (
    <Frame title={t('email_title')}>
      <Stack>
        {email === null ? (
          <HolderForm onSubmit={confirm} action={t('email_confirm')}>
            <Text size="sm">{t('email_text')}</Text>
          </HolderForm>
        ) : (
          <Text role="status">{t('email_done', { email })}</Text>
        )}
        <Anchor component={Link} to={me ? '/dashboard' : '/sign-in'} size="sm" ta="center">
          {me ? t('to_dashboard') : t('sign_in')}
        </Anchor>
      </Stack>
    </Frame>
  );
}
