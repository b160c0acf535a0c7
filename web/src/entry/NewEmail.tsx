import { Anchor, Button, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { api } from '../api.ts';
import { messageOf } from '../components/Failure.tsx';
import { meQuery, useMe } from '../session.tsx';
import { Frame } from './Frame.tsx';
import { Problem } from '../components/Form.tsx';
import { useQueryOf } from '../address.ts';
import { entrySearch } from './search.ts';

/**
 * The page that the mail to a new address links to. Waits for a click, because mail programs open
 * links by themselves.
 */
export function NewEmail() {
  const { t } = useTranslation('entry');
  const { token = '' } = useQueryOf(entrySearch);
  const me = useMe();
  const queries = useQueryClient();
  const confirm = useMutation({
    mutationFn: () => api('POST /api/email', { body: { token } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: meQuery.queryKey }),
  });
  const { data, error } = confirm;
  return (
    <Frame title={t('email_title')}>
      <Stack>
        {error && <Problem text={messageOf(error)} />}
        {data === undefined ? (
          <>
            <Text size="sm">{t('email_text')}</Text>
            <Button onClick={() => confirm.mutate()} loading={confirm.isPending}>
              {t('email_confirm')}
            </Button>
          </>
        ) : (
          <Text role="status">{t('email_done', { email: data.email })}</Text>
        )}
        <Anchor component={Link} to={me ? '/dashboard' : '/sign-in'} size="sm" ta="center">
          {me ? t('to_dashboard') : t('sign_in')}
        </Anchor>
      </Stack>
    </Frame>
  );
}
