import { Code, Progress, Stack, Title } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { RequestDetail } from '../api-types.ts';
import { Dimmed } from '../components/styles.ts';
import { formatDuration } from '../components/text.tsx';
import { useModel } from '../studio/price.ts';
import { useTranslation } from '../i18n.ts';
import './request-texts.ts';

/** After so many times its usual time a run is called late. */
const lateTimes = 2;

/** A request that waits or runs: for how long, how long it usually takes, and the model's log. */
export function UnderWay({ request }: { request: RequestDetail }) {
  const { t, language } = useTranslation('request');
  const { status, progress, queue_position: ahead, logs, created_at, started_at } = request;
  const isQueued = status === 'IN_QUEUE';
  const elapsedMs = useElapsed(started_at ?? created_at);
  const expected = useModel(request.model_id)?.median_seconds ?? null;
  const time = formatDuration(elapsedMs, language, true);
  const usual = expected !== null && formatDuration(Math.ceil(expected) * 1000, language, true);
  const isLate = expected !== null && elapsedMs > lateTimes * Math.ceil(expected) * 1000;
  const share = progress ?? (expected === null ? null : guessed(elapsedMs, expected));
  return (
    <Stack gap="sm" w="100%" aria-live="polite">
      <Title order={2} fz="md">
        {isQueued ? t('waiting') : t('running')}
      </Title>
      {isQueued && ahead !== null && <Dimmed>{t('ahead', { count: ahead })}</Dimmed>}
      {!isQueued && (
        <Progress
          value={share === null ? 100 : share * 100}
          animated={share === null}
          striped={share === null}
          aria-label={t('running')}
        />
      )}
      {/* It changes each second, which nobody wants to hear. */}
      <Dimmed className="number" aria-live="off">
        {usual
          ? t(isLate ? 'elapsed_late' : 'elapsed_of', { time, usual })
          : t('elapsed', { time })}
      </Dimmed>
      {logs.length > 0 && (
        <Code block mah={200} ta="left" tabIndex={0} role="region" aria-label={t('logs')}>
          {logs.join('\n')}
        </Code>
      )}
    </Stack>
  );
}

/** Nearly full at the expected time, and never full: only the service says that it is done. */
function guessed(elapsedMs: number, expectedSeconds: number): number {
  return 1 - Math.exp((-2.5 * elapsedMs) / Math.max(1, expectedSeconds * 1000));
}

function useElapsed(from: string): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, now - Date.parse(from));
}
