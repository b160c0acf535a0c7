import { SimpleGrid, Skeleton, Text, UnstyledButton } from '@mantine/core';
import { IconPhoto } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Note } from '../../components/styles.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { useAccount, useAccountApi } from '../../session.tsx';
import type { Media } from './schema.ts';
import { shownAs, type Medium } from '../runs/runs.ts';
import classes from './RecentOutputs.module.css';
import { Small } from '../runs/Shown.tsx';
import { useTranslation } from '../../i18n.ts';

const requestsRead = 24;

/** Outputs of recent requests, to choose as an input. */
export default function RecentOutputs(props: {
  media: Media;
  onChoose: (url: string) => void;
  onClose: () => void;
}) {
  const { media, onChoose, onClose } = props;
  const { t } = useTranslation('studio');
  const { account_id } = useAccount();
  const api = useAccountApi();
  const recent = useQuery({
    queryKey: ['account', account_id, 'recent-outputs'],
    queryFn: async () => {
      const { data } = await api('GET /v1/requests', {
        query: { status: 'COMPLETED', limit: requestsRead },
      });
      return data.flatMap(({ outputs }) => outputs);
    },
    staleTime: 10_000,
  });
  const fitting = recent.data?.filter((each) => media === 'any' || shownAs(each) === media);
  return (
    <Modal opened onClose={onClose} title={t('my_results')} size="lg">
      {recent.error && <Failure error={recent.error} retry={() => void recent.refetch()} />}
      {fitting?.length === 0 && (
        <Empty icon={<IconPhoto />} title={t('no_results_title')} text={t('no_results_text')} />
      )}
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm">
        {recent.isPending &&
          Array.from({ length: 8 }, (_, i) => <Skeleton key={i} h={120} radius="md" />)}
        {fitting?.map((each) => (
          <UnstyledButton
            key={each.url}
            className={classes.tile}
            onClick={() => onChoose(each.url)}
            aria-label={t('take_result', { name: each.file_name })}
          >
            <Still medium={each} />
          </UnstyledButton>
        ))}
      </SimpleGrid>
      {fitting && fitting.length > 0 && <Note mt="md">{t('results_kept')}</Note>}
    </Modal>
  );
}

function Still({ medium }: { medium: Medium }) {
  const kind = shownAs(medium);
  if (kind === 'image') return <Small medium={medium} alt="" className={classes.still} />;
  if (kind === 'video')
    return <video src={medium.url} className={classes.still} muted preload="metadata" />;
  return <Text size="sm">{medium.file_name}</Text>;
}
