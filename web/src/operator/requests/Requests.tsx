import { IconDownload } from '@tabler/icons-react';
import { withQuery } from '../../api.ts';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { PlainButton } from '../../components/styles.ts';
import { useAddress } from '../search.ts';
import { RequestList } from './RequestList.tsx';
import { queryOf } from './request-search.ts';
import { useTranslation } from '../../i18n.ts';
import './requests-texts.ts';

/** Requests of all accounts. */
export function Requests() {
  const { t } = useTranslation('operator_requests');
  const [search, setAddress] = useAddress('/operator/requests');
  return (
    <>
      <PageTitle title={t('common:nav.requests')} text={t('text')}>
        <PlainButton
          component="a"
          href={withQuery('/api/operator/requests/export', queryOf(search))}
          download="farebox-requests.csv"
          leftSection={<IconDownload size={16} />}
        >
          {t('export')}
        </PlainButton>
      </PageTitle>
      <RequestList search={search} onChange={setAddress} />
    </>
  );
}
