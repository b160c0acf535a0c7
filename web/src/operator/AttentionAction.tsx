import { useState } from 'react';
import { useTranslation } from '../i18n.ts';
import { operatorApi } from '../api.ts';
import type {
  AttentionLine,
  OperatorDeposit,
  UnknownOutcome,
  UnknownOutcomes,
} from '../api-types.ts';
import { RowButton } from '../components/styles.ts';
import { useAction, usePress } from './action.ts';
import './attention-texts.ts';
import { CreditDialog } from './chains/DepositDialogs.tsx';
import { ResolveDialog } from './requests/ResolveDialog.tsx';
import { type OperatorRight, useRightProps } from './rights.ts';

type Question =
  | { credit: OperatorDeposit }
  | { resolve: UnknownOutcome | UnknownOutcomes }
  | null
  | undefined;

interface DirectAction {
  right: OperatorRight;
  /** Whether one press can do it; otherwise the page of the problem has a choice to make. */
  fits: (line: AttentionLine) => boolean;
}

const namesEach = ({ count, of }: AttentionLine) => of.length === count;
const isOne = ({ of }: AttentionLine) => of.length === 1;

/** The problems about which one press does something. */
const directActions: Partial<Record<AttentionLine['what'], DirectAction>> = {
  books_old: { right: 'read', fits: () => true },
  credit_used_up: { right: 'catalog', fits: namesEach },
  upstream_paused: { right: 'catalog', fits: namesEach },
  model_paused: { right: 'catalog', fits: namesEach },
  models_stopped: { right: 'catalog', fits: ({ count }) => count === 1 },
  deposits_held: { right: 'money', fits: ({ count }) => count === 1 },
  unknown_outcomes: { right: 'money', fits: isOne },
};

export function hasAction(line: AttentionLine): boolean {
  return directActions[line.what]?.fits(line) ?? false;
}

/** The button beside a problem; asks in a dialog if money or a judgement is needed. */
export function AttentionAction({ line }: { line: AttentionLine }) {
  const { t } = useTranslation('operator_attention');
  const allowed = useRightProps();
  const run = useDirectAction(line);
  const [asked, setAsked] = useState<Question>(null);
  const press = usePress(run, setAsked);
  const close = () => setAsked(null);
  const label = t(`act.${line.what}`);
  return (
    <>
      <RowButton
        loading={press.isPending}
        onClick={() => press.mutate()}
        aria-label={`${label}: ${line.of.join(', ') || t(`of.${line.what}`, { count: line.count })}`}
        {...allowed(directActions[line.what]!.right)}
      >
        {label}
      </RowButton>
      {asked && 'credit' in asked && <CreditDialog deposit={asked.credit} onClose={close} />}
      {asked && 'resolve' in asked && <ResolveDialog of={asked.resolve} onClose={close} />}
    </>
  );
}

/** Does it, or returns the dialog to ask in. Null: another operator was faster. */
function useDirectAction({ what, of }: AttentionLine): () => Promise<Question> {
  const { t } = useTranslation('operator_attention');
  const act = useAction();
  const resume = async (upstream: string, model?: string) => {
    const given = { params: { upstream }, body: { model } };
    await act(
      'POST /upstreams/:upstream/resume',
      given,
      t('done.resumed', { name: of.join(', ') }),
    );
  };
  return async () => {
    if (what === 'deposits_held') {
      const { data } = await operatorApi('GET /deposits', { query: { state: 'held', limit: 1 } });
      return data[0] && { credit: data[0] };
    }
    if (what === 'unknown_outcomes') {
      const { data, by_upstream, open } = await operatorApi('GET /unknown', {});
      const found = open === 1 ? data[0] : by_upstream[0];
      return found && { resolve: found };
    }
    if (what === 'books_old') await act('POST /audit', {}, t('done.proved'));
    if (what === 'models_stopped') {
      const given = { params: { '*': of[0]! }, body: { status: 'live' as const } };
      await act('PATCH /models/*', given, t('done.sold', { name: of[0]! }));
    }
    if (what === 'upstream_paused' || what === 'credit_used_up')
      for (const name of of) await resume(name.split('#')[0]!);
    if (what === 'model_paused')
      for (const name of of) await resume(...(name.split(' ', 2) as [string, string]));
    return null;
  };
}
