import { Button } from '@mantine/core';
import { IconUsersGroup } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { call } from '../api.ts';
import { meQuery } from '../session.tsx';
import { Empty } from './Empty.tsx';
import { showFailure } from './Failure.tsx';
import { PageTitle } from './PageTitle.tsx';

/** For somebody who has left the last account that they belonged to. */
export default function NoAccount() {
  const { t } = useTranslation('common');
  const queries = useQueryClient();
  const router = useRouter();
  const { data } = useQuery({
    queryKey: ['web'],
    queryFn: () => call<{ sign_up: string }>('/api/web'),
    staleTime: 60_000,
  });
  const mayOpen = data?.sign_up === 'open';
  const open = async () => {
    try {
      await call('/api/me/account', { method: 'POST', body: {} });
      await queries.fetchQuery({ ...meQuery, staleTime: 0 });
      await router.invalidate();
    } catch (error) {
      showFailure(error);
    }
  };
  return (
    <>
      <PageTitle title={t('cabinet')} />
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
