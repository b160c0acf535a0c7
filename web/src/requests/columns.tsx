import { Box, Group, Progress, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { isFinal } from '../../../client/src/watch.ts';
import type { AnyRequest, RequestEntry } from '../api-types.ts';
import { Copy } from '../components/Copy.tsx';
import { Note } from '../components/styles.ts';
import { Duration, StatusBadge, Usd, usePercent, When } from '../components/text.tsx';
import { briefUsd } from '../money.ts';
import { errorText, useTranslation } from '../i18n.ts';
import classes from './columns.module.css';
import './request-texts.ts';

/** Cells of the lists of requests. */

type Line = Pick<RequestEntry, 'request_id' | 'status' | 'quoted_usd_micro'>;

/** The link that names the request, over its model or before the end of its id, which is copied. */
export function RequestName(props: {
  request_id: string;
  children: ReactNode;
  /** Left of both. */
  thumb?: ReactNode;
  /** The name of its model, in place of the id. */
  model?: string;
}) {
  const { t } = useTranslation('request');
  const { request_id, children, thumb, model } = props;
  return (
    <Group gap="sm" wrap="nowrap" maw={420} miw={180}>
      {thumb}
      {model !== undefined ? (
        <Box miw={0}>
          {children}
          <Note truncate>{model}</Note>
        </Box>
      ) : (
        <>
          {children}
          <Group gap={0} wrap="nowrap">
            <Note ff="monospace" fw={400} title={request_id}>
              …{request_id.slice(-6)}
            </Note>
            <Copy text={request_id} what={t('id')} />
          </Group>
        </>
      )}
    </Group>
  );
}

export function RequestState(props: {
  request: Pick<Line, 'status'> & {
    progress?: number | null;
    error_code?: string | null;
    /** Says more than the words for its code. */
    error?: RequestEntry['error'];
  };
}) {
  const { t } = useTranslation('common');
  const percent = usePercent();
  const { status, progress = null, error_code = null, error = null } = props.request;
  return (
    <Group gap="4px 8px" wrap="nowrap">
      <StatusBadge status={status} />
      {status === 'IN_PROGRESS' && progress !== null && (
        <Progress
          value={progress * 100}
          w={64}
          size="sm"
          aria-label={`${t('status.IN_PROGRESS')}: ${percent(progress * 1_000_000)}`}
        />
      )}
      {error_code !== null && (
        <Note lineClamp={2} maw={240} title={error_code}>
          {error
            ? errorText(error)
            : t(`request:error_code.${error_code}`, { defaultValue: error_code })}
        </Note>
      )}
    </Group>
  );
}

/** How long it has run; before its start, how long it has waited. */
export function RequestTook(props: {
  request: Pick<RequestEntry, 'status' | 'created_at' | 'started_at' | 'completed_at'>;
  size?: 'xs' | 'sm';
}) {
  const { request, size = 'sm' } = props;
  const { created_at, started_at, completed_at } = request;
  // A request cancelled in the queue never started, so this is the time it waited.
  const to = isFinal(request) ? completed_at : null;
  return (
    <Text size={size} span c={isFinal(request) ? undefined : 'dimmed'}>
      <Duration from={started_at ?? created_at} to={to} />
    </Text>
  );
}

/** The charge; before it, the reserved amount. Hovering shows the quote, if the charge is lower. */
export function RequestPrice(props: {
  request: Pick<RequestEntry, 'quoted_usd_micro' | 'charged_usd_micro'>;
}) {
  const { t } = useTranslation('request');
  const { quoted_usd_micro: quoted, charged_usd_micro: charged } = props.request;
  const isLower = charged !== null && charged !== quoted;
  return (
    <span title={isLower ? t('of_quoted', { amount: briefUsd(quoted, 'up') }) : undefined}>
      {charged === null && <Note span>{t('is_quoted')} </Note>}
      <Text size="sm" span c={charged === null ? 'dimmed' : undefined}>
        <Usd micro={charged ?? quoted} />
      </Text>
    </span>
  );
}

/** A request in a narrow list; on the phone its state and price have a line of their own. */
export function RequestLine(props: {
  request: RequestEntry | AnyRequest;
  thumb?: ReactNode;
  /** Below its name. */
  note: ReactNode;
  /** Its name, as a link. */
  children: ReactNode;
}) {
  const { request, thumb, note, children } = props;
  return (
    <Group gap="sm" wrap="nowrap">
      {thumb}
      <div className={classes.request}>
        <div>
          {children}
          <Note className="wrap">
            {note} · <When at={request.created_at} />
            {'started_at' in request && (
              <>
                {' · '}
                <RequestTook request={request} size="xs" />
              </>
            )}
          </Note>
        </div>
        <RequestState request={request} />
        <RequestPrice request={request} />
      </div>
    </Group>
  );
}
