import { Group } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Note } from '../../components/styles.ts';
import { messageOf } from '../../components/Failure.tsx';
import { Usd } from '../../components/text.tsx';
import { useAccount, useAccountApi, useMay } from '../../session.tsx';
import { bodyOf, type ChatFile, type ConversationDraft } from './conversations.ts';
import type { Model } from '../../api-types.ts';
import { stoppedText } from '../models.ts';
import { TopUpLink } from '../TopUpLink.tsx';
import { shortBy, shortage, useAllowance } from '../price.ts';
import { previous, useAccountKey } from '../../queries.ts';
import { fromJson } from '../../../../client/src/unknown.ts';
import type { AccountCalls } from '../../api.ts';
import { useTranslation } from '../../i18n.ts';

/** The most that the replies can cost, each and together, or why nothing can be sent; the balance. */
export function Cost(props: Costs & { models: (Model | undefined)[]; why: string | null }) {
  const { prices, price, short, allowance, models, why } = props;
  const { t } = useTranslation('chat');
  const count = models.length;
  return (
    <Group justify="space-between" gap="xs" mt={6} px={4}>
      <Note aria-live="polite">
        {why ?? (
          <>
            {t('at_most', { count })}{' '}
            <span data-ceiling={price}>{price ? <Usd micro={price} price /> : '…'}</span>
          </>
        )}{' '}
        {short === 'balance' && <TopUpLink size="xs" />}
      </Note>
      {allowance && (
        <Note>
          {t('studio:balance')} <Usd micro={allowance.available_usd_micro} />
        </Note>
      )}
      {count > 1 && why === null && (
        <Group gap="sm" w="100%">
          {models.map((model, i) => (
            <Note key={i} data-ceiling-of={model?.id}>
              {model?.name} {prices[i] === undefined ? '…' : <Usd micro={prices[i]} price />}
            </Note>
          ))}
        </Group>
      )}
    </Group>
  );
}

type Costs = ReturnType<typeof useCost>;

/** The most that the next reply of each conversation can cost, and all together. */
export function useCost(columns: ConversationDraft[], text: string, files: ChatFile[]) {
  const allowance = useAllowance();
  const { prices, errors } = useCeilings(columns, text, files);
  const known = prices.filter((each) => each !== undefined);
  const price =
    known.length === columns.length
      ? String(known.reduce((sum, each) => sum + BigInt(each), 0n))
      : undefined;
  const short = price && allowance ? shortage(allowance, price, 0) : null;
  return { allowance, prices, price, short, errors };
}

/** Why nothing can be sent; null if it can. */
export function useReason(
  models: (Model | undefined)[],
  { allowance, price, short, errors }: Costs,
): string | null {
  const { t } = useTranslation('chat');
  const { t: studio } = useTranslation('studio');
  const mayRun = useMay('build');
  const { status } = useAccount();
  if (status !== 'active') return t('studio:blocked.suspended');
  if (!mayRun) return t('studio:blocked.role');
  const reasons = models.map((model, i) => {
    if (!model) return t('model_gone');
    const reason = stoppedText(model, studio) ?? (errors[i] ? messageOf(errors[i]) : null);
    return reason !== null && models.length > 1 ? `${model.name}: ${reason}` : reason;
  });
  const reason = reasons.find((each) => each !== null);
  if (reason) return reason;
  if (short === 'balance')
    return t('studio:blocked.balance', { short: shortBy(allowance!, price!) });
  return short === 'limit' ? t('limit') : null;
}

const pauseMs = 400;

/** The amounts reserved for the next calls, as the service estimates them. */
function useCeilings(columns: ConversationDraft[], text: string, files: ChatFile[]) {
  const next = { id: '', role: 'user' as const, content: text || '…', files };
  const bodies = columns.map((each) =>
    JSON.stringify(bodyOf({ ...each, id: '', updated_at: '', messages: [...each.messages, next] })),
  );
  const [settled] = useDebouncedValue(JSON.stringify(bodies), pauseMs);
  const api = useAccountApi();
  const key = useAccountKey();
  const asked = fromJson<string[]>(settled);
  const { data = [], error } = useQuery({
    queryKey: key('POST /studio/chat-price', asked),
    queryFn: () =>
      Promise.all(
        asked.map((each) =>
          api('POST /studio/chat-price', { body: fromJson<Body>(each) }).then(
            ({ price_usd_micro }): Ceiling => ({ price: price_usd_micro, error: null }),
            (failure: Error): Ceiling => ({ error: failure }),
          ),
        ),
      ),
    ...previous,
    // A refusal may have been mended meanwhile.
    staleTime: ({ state }) => (state.data?.every((each) => each.price) ? 60_000 : 0),
    gcTime: 30_000,
    retry: false,
  });
  const found = columns.map((_, i) => (data.length === columns.length ? data[i] : undefined));
  return {
    prices: found.map((each) => each?.price),
    errors: found.map((each) => each?.error ?? error),
  };
}

type Body = AccountCalls['POST /studio/chat-price']['body'];
interface Ceiling {
  price?: string;
  error: Error | null;
}
