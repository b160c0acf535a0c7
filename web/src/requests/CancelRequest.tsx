import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { isFinal } from '../../../client/src/watch.ts';
import type { RequestDetail } from '../api-types.ts';
import { Confirm } from '../components/Confirm.tsx';
import { showFailure } from '../components/Failure.tsx';
import { notice } from '../components/frame/notice.ts';
import { Dimmed, PlainButton } from '../components/styles.ts';
import { formatUsd } from '../money.ts';
import { useReload } from '../queries.ts';
import { useAccountApi, useMay } from '../session.tsx';
import { useModel } from '../studio/price.ts';
import { useTranslation } from '../i18n.ts';
import './request-texts.ts';

/**
 * Cancels a request that waits, or that runs if its model can be stopped; nothing for any other.
 * `isQuick`: asks first only if the cancel may cost money.
 */
export function CancelRequest(props: { request: RequestDetail; isQuick?: boolean }) {
  const { request, isQuick = false } = props;
  const { t } = useTranslation('request');
  const [open, { open: ask, close }] = useDisclosure(false);
  const rule = useModel(request.model_id)?.on_cancel;
  const cancel = useCancel(request, rule);
  const press = useMutation({ mutationFn: cancel });
  const isQueued = request.status === 'IN_QUEUE';
  const mayCancel = useMay('build');
  if (isFinal(request)) return null;
  if (request.cancel_requested_at !== null) return <Dimmed role="status">{t('stopping')}</Dimmed>;
  if (!mayCancel || (!isQueued && rule === undefined)) return null;
  const isFree = isQueued || rule === 'free';
  const amount = `$${formatUsd(request.quoted_usd_micro)}`;
  return (
    <>
      <PlainButton
        loading={press.isPending}
        onClick={() => (isQuick && isFree ? press.mutate() : ask())}
      >
        {t('cancel')}
      </PlainButton>
      <Confirm
        opened={open}
        title={t('cancel_title')}
        action={t('cancel')}
        keep={t('cancel_keep')}
        onConfirm={cancel}
        onClose={close}
      >
        {isQueued ? t('cancel_text', { amount }) : t(`cancel_running.${rule}`, { amount })}
      </Confirm>
    </>
  );
}

function useCancel(request: RequestDetail, rule: string | undefined) {
  const { t } = useTranslation('request');
  const api = useAccountApi();
  const reload = useReload();
  const { request_id, status } = request;
  const amount = `$${formatUsd(request.quoted_usd_micro)}`;
  // It may start meanwhile. Its cancel then costs money, unless the rule is `free`.
  const running = status === 'IN_PROGRESS' || rule === 'free';
  return async () => {
    await api('POST /v1/requests/:request_id/cancel', {
      params: { request_id },
      query: { running },
    }).then(
      ({ status: now }) =>
        notice({ message: now === 'CANCELLED' ? t('cancelled', { amount }) : t('stopping') }),
      // It may just have started or ended: the reload shows that.
      showFailure,
    );
    void reload(
      'GET /requests/:request_id',
      'GET /requests',
      'GET /studio/allowance',
      'GET /balance',
    );
  };
}
