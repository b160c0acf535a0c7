import '../studio-texts.ts';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { Modal } from '../../components/Dialog.tsx';
import { DownloadButton } from '../../components/DownloadButton.tsx';
import { Failure } from '../../components/Failure.tsx';
import { PlainButton } from '../../components/styles.ts';
import { useRequest } from '../../requests/request-data.ts';
import { keptOutputsOf } from '../runs/runs.ts';
import { MakeAgain } from './Lines.tsx';
import { Star } from '../Star.tsx';
import { keyOf, type WallItem } from './Wall.tsx';
import { useTranslation } from '../../i18n.ts';

const Viewer = lazy(() => import('../runs/Viewer.tsx'));

/** An output of the wall on the whole screen; arrow keys lead along the wall. */
export function Viewed(props: {
  item: WallItem;
  items: WallItem[];
  onMove: (item: WallItem) => void;
  onClose: () => void;
}) {
  const { items, onMove, onClose } = props;
  const { t } = useTranslation('studio');
  const place = items.findIndex((each) => keyOf(each) === keyOf(props.item));
  // A file may end while it is looked at; the arrows then go on from where it was.
  const [lastPlace, setLastPlace] = useState(place);
  if (place !== -1 && place !== lastPlace) setLastPlace(place);
  const { entry, output } = items[place] ?? props.item;
  const { data: request, error, refetch } = useRequest(entry.request_id);
  const at = request ? keptOutputsOf(request).findIndex(({ index }) => index === output.index) : 0;
  const move = (step: -1 | 1) => {
    const from = place === -1 && step === 1 ? lastPlace - 1 : place === -1 ? lastPlace : place;
    const next = items[from + step];
    if (next) onMove(next);
  };
  if (error && !request) {
    return (
      <Modal opened onClose={onClose} title={t('viewer')}>
        <Failure error={error} retry={() => void refetch()} />
      </Modal>
    );
  }
  return (
    <Suspense>
      <Viewer
        request={request}
        at={at}
        onMove={move}
        onClose={onClose}
        acts={
          <>
            {place !== -1 && <DownloadButton file={output} size="xs" />}
            <MakeAgain entry={entry} />
            <OpenRequest request_id={entry.request_id} />
            <Star entry={entry} />
          </>
        }
      />
    </Suspense>
  );
}

function OpenRequest({ request_id }: { request_id: string }) {
  const { t } = useTranslation('studio');
  return (
    <PlainButton component={Link} to={`/dashboard/requests/${request_id}`} size="xs">
      {t('open_request')}
    </PlainButton>
  );
}
