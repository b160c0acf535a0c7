import { Anchor, Stack, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { QueryLink, useQueryOf } from '../address.ts';
import { api } from '../api.ts';
import { Frame } from './Frame.tsx';
import { HolderForm } from './HolderForm.tsx';
import { entrySearch } from './search.ts';
import { useTranslation } from '../i18n.ts';

/**
 * The page that the letter after a sign-up links to. Waits for a click, because mail programs open
 * links by themselves.
 */
export function Confirm() {
  const { t } = useTranslation('entry');
  const { token } = useQueryOf(entrySearch);
  const navigate = useNavigate();
  const confirm = async (given: { password?: string }) => {
    await api('POST /api/confirm', { body: { token: token ?? '', ...given } });
    await navigate({ to: '/sign-in', search: { confirmed: 'yes' } });
  };
  return (
    <Frame title={t('confirm_title')}>
      <Stack>
        {token === undefined ? (
          <Text>{t('confirm_old')}</Text>
        ) : (
          <HolderForm onSubmit={confirm} action={t('confirm_action')}>
            <Text size="sm">{t('confirm_text')}</Text>
          </HolderForm>
        )}
        <Anchor component={QueryLink} to="/sign-in" search={{}} size="sm" ta="center">
          {t('sign_in')}
        </Anchor>
        <Anchor component={Link} to="/forgot" size="sm" ta="center">
          {t('forgot')}
        </Anchor>
      </Stack>
    </Frame>
  );
}
