import { Button } from '@mantine/core';
import { IconUsersGroup } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { api } from '../../api.ts';
import { useSettings } from '../../entry/signing-in.ts';
import { meQuery } from '../../session.tsx';
import { Empty } from '../list/Empty.tsx';
import { showFailure } from '../Failure.tsx';
import { PageTitle } from './PageTitle.tsx';
import { useTranslation } from '../../i18n.ts';

/** For a user who has left their last account. */
export default function NoAccount() {
  const { t } = useTranslation('common');
  const queries = useQueryClient();
  const router = useRouter();
  const mayOpen = useSettings()?.sign_up === 'open';
  const open = async () => {
    try {
      await api('POST /api/me/account');
      await queries.fetchQuery({ ...meQuery, staleTime: 0 });
      await router.invalidate();
    } catch (error) {
      showFailure(error);
    }
  };
  return (
    <>
      <PageTitle title={t('dashboard')} />
      <Empty
        icon={<IconUsersGroup />}
        title={t('no_account.title')}
        text={t(mayOpen ? 'no_account.text' : 'no_account.text_closed')}
      >
        {mayOpen && <Button onClick={() => void open()}>{t('no_account.open')}</Button>}
      </Empty>
    </>
  );
}
