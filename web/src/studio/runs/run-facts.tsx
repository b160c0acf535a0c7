import type { ReactNode } from 'react';
import type { RequestDetail } from '../../api-types.ts';
import { Duration, Usd, useMoment } from '../../components/text.tsx';
import { shownNumber } from '../../exact-json.ts';
import { keptOutputsOf } from './runs.ts';
import { useTranslation } from '../../i18n.ts';

export interface RunFact {
  name: string;
  value: ReactNode;
  /** Whether the value alone says what it is. */
  isClear?: boolean;
}

/** The facts of a run's output: size, seed, price, times. */
export function useRunFacts(request: RequestDetail, at: number): RunFact[] {
  const { t } = useTranslation('studio');
  const moment = useMoment();
  const { quoted_usd_micro: quoted, charged_usd_micro: charged, input, output } = request;
  const { started_at, completed_at, created_at, expires_at, status } = request;
  const { width, height } = keptOutputsOf(request)[at] ?? {};
  const facts: RunFact[] = [];
  if (width && height)
    facts.push({ name: t('facts.size'), value: `${width} × ${height}`, isClear: true });
  const seed = [output?.seed, input.seed].map(shownNumber).find((each) => each !== '');
  if (seed !== undefined) facts.push({ name: t('field.seed'), value: seed });
  facts.push({
    name: charged === null ? t('reserved') : t('common:charged'),
    value: (
      <span data-charged={charged ?? undefined}>
        <Usd micro={charged ?? quoted} />
      </span>
    ),
    isClear: charged !== null,
  });
  if (status === 'COMPLETED' && completed_at !== null) {
    const value = <Duration from={started_at ?? created_at} to={completed_at} />;
    facts.push({ name: t('facts.took'), value, isClear: true });
  }
  if (keptOutputsOf(request).length === 0 || expires_at === null)
    facts.push({ name: t('facts.made'), value: moment(created_at), isClear: true });
  else facts.push({ name: t('facts.kept'), value: moment(expires_at) });
  return facts;
}
