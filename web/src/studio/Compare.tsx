import './studio-texts.ts';
import {
  Box,
  Button,
  MultiSelect,
  SimpleGrid,
  Skeleton,
  Text,
  Title,
  UnstyledButton,
} from '@mantine/core';
import { IconArrowRight } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { QueryLink, useQueryOf } from '../address.ts';
import type { Estimate, Model } from '../api-types.ts';
import { Failure } from '../components/Failure.tsx';
import { PageTitle } from '../components/frame/PageTitle.tsx';
import { useIsNarrow } from '../components/narrow.ts';
import { Dimmed, Note } from '../components/styles.ts';
import { Usd } from '../components/text.tsx';
import { Cover } from './Cover.tsx';
import { useRequest } from '../requests/request-data.ts';
import { useAccount } from '../session.tsx';
import { commonModel, comparedMax, takeSameInput } from './same-input.ts';
import { useDraft } from './form/draft.ts';
import { InputForm } from './form/InputForm.tsx';
import type { PendingSubmit } from './form/pending-submits.ts';
import { defaultsOf, fieldsOf } from './form/schema.ts';
import { useSeconds } from './form/Rate.tsx';
import { addressOf } from './models.ts';
import { pricedFields, useAllowance, useModels, useQuotes } from './price.ts';
import classes from './Compare.module.css';
import model from './Model.module.css';
import { useBlocked } from './runs/blocked.ts';
import { Refused } from './runs/Refused.tsx';
import { Result } from './runs/Result.tsx';
import { RunBar } from './runs/RunBar.tsx';
import { usePendingSubmits } from './runs/runs.ts';
import { compareSearch } from './search.ts';
import { usePriceMoved } from './Workbench.tsx';
import { useTranslation } from '../i18n.ts';

const Viewer = lazy(() => import('./runs/Viewer.tsx'));

/** The same input on several models, side by side. */
export function Compare() {
  const { t } = useTranslation('studio');
  const { models: asked = '' } = useQueryOf(compareSearch);
  const navigate = useNavigate();
  const models = useModels();
  const offered = (models.data ?? []).filter(({ kind }) => kind !== 'text');
  const wanted = asked.split(',').flatMap((id) => offered.find((each) => each.id === id) ?? []);
  const chosen = takeSameInput(wanted) ? wanted.slice(0, comparedMax) : wanted.slice(0, 1);
  const fitting = offered.filter(
    (each) => chosen.includes(each) || takeSameInput([...chosen, each]),
  );
  const choose = (ids: string[]) =>
    void navigate({ to: '/studio/compare', search: { models: ids.join(',') || undefined } });
  return (
    <>
      <PageTitle title={t('compare.title')} text={t('compare.text')} />
      {models.error && <Failure error={models.error} retry={() => void models.refetch()} />}
      {models.isPending && <Skeleton h={84} maw={720} />}
      {/* Its height depends on the names. */}
      {models.data && (
        <MultiSelect
          label={t('compare.models')}
          description={t('compare.choose_text')}
          placeholder={chosen.length === 0 ? t('compare.choose') : ''}
          data={fitting.map(({ id, name }) => ({ value: id, label: name }))}
          value={chosen.map(({ id }) => id)}
          onChange={choose}
          maxValues={comparedMax}
          searchable
          clearable
          maw={720}
          mb="lg"
        />
      )}
      {models.data && chosen.length < 2 && (
        <Offered
          models={fitting.filter((each) => !chosen.includes(each))}
          onChoose={(id) => choose([...chosen.map((each) => each.id), id])}
        />
      )}
      {chosen.length >= 2 && <Side key={chosen.map(({ id }) => id).join(' ')} models={chosen} />}
    </>
  );
}

/** The models that may be compared, to press. */
function Offered({ models, onChoose }: { models: Model[]; onChoose: (id: string) => void }) {
  const { t } = useTranslation('studio');
  return (
    <section aria-label={t('compare.choose')}>
      <Dimmed mb="md">{t('compare.none_text')}</Dimmed>
      <SimpleGrid cols={{ base: 2, xs: 3, md: 4, lg: 5 }} spacing="md">
        {models.map((each) => (
          <UnstyledButton key={each.id} onClick={() => onChoose(each.id)} title={each.id}>
            <Cover model={each} />
            <Text size="sm" fw={500} mt={6} truncate>
              {each.name}
            </Text>
            <Note truncate>{t(`task.${each.task}`, { defaultValue: each.task })}</Note>
          </UnstyledButton>
        ))}
      </SimpleGrid>
    </section>
  );
}

/** The request of each model, by its id. */
type Runs = Record<string, string>;

function Side({ models }: { models: Model[] }) {
  const { t } = useTranslation('studio');
  const { account_id } = useAccount();
  const common = useMemo(() => commonModel(models), [models]);
  const fields = useMemo(() => fieldsOf(common.input_schema), [common]);
  const priced = useMemo(
    () => new Set(models.flatMap((each) => [...pricedFields(each)])),
    [models],
  );
  const draft = useDraft(`farebox-draft ${account_id} compare`, () =>
    defaultsOf(common.input_schema),
  );
  // Fields that only other models take may be left in the form; they are not sent.
  const input = Object.fromEntries(
    fields.flatMap(({ name }) => (name in draft.input ? [[name, draft.input[name]]] : [])),
  );
  const [isBroken, setBroken] = useState(false);
  const [runs, setRuns] = useRunsOf(models);
  const { quotes, error: unpriced, isFresh } = useQuotes(models, input, fields, priced);
  const quote = quotes && sumOf(models, quotes);
  const allowance = useAllowance();
  const { presses, press, again, drop } = usePendingSubmits('compare', {
    onPriced: usePriceMoved(),
    onAccepted: (model_id, request_id) => setRuns((all) => ({ ...all, [model_id]: request_id })),
  });
  const state = { fields, input, isBroken, quote, unpriced, isFresh, allowance };
  const blocked = useBlocked({ models, ...state });
  const isWide = !useIsNarrow('61.99em');
  const results = useRef<HTMLElement>(null);
  const run = () => {
    setRuns({});
    // On narrow screens the results are above the form.
    if (!isWide) results.current?.scrollIntoView({ block: 'start' });
    models.forEach(({ id }, i) => press(id, input, quotes?.[i]?.price_usd_micro));
  };
  const bar = <RunBar {...state} blocked={blocked} onRun={run} />;
  const form = (
    <section key="input" className={model.side} aria-label={t('input')}>
      <div className={model.form}>
        <InputForm
          model={common}
          fields={fields}
          priced={priced}
          input={input}
          set={draft.set}
          replace={draft.replace}
          errors={{}}
          assumed={quote?.assumptions ?? {}}
          onBroken={setBroken}
          onRun={() => blocked === null && run()}
        />
      </div>
      {isWide && bar}
    </section>
  );
  const columns = (
    <section
      key="results"
      ref={results}
      className={classes.columns}
      aria-label={t('compare.results')}
    >
      {models.map((each, i) => (
        <Column
          key={each.id}
          model={each}
          price={quotes?.[i]?.price_usd_micro}
          request_id={runs[each.id]}
          press={presses.find(({ model_id }) => model_id === each.id)}
          again={again}
          drop={drop}
        />
      ))}
    </section>
  );
  return (
    <div className={classes.compare}>
      {isWide ? [form, columns] : [columns, form]}
      {!isWide && (
        <Box className={model.bottom} data-submit-bar>
          {bar}
        </Box>
      )}
    </div>
  );
}

/** The requests of the shown comparison, kept in the address. */
function useRunsOf(models: Model[]) {
  const { runs: asked = '' } = useQueryOf(compareSearch);
  const navigate = useNavigate();
  const [runs, setRuns] = useState<Runs>(() => {
    const ids = asked.split(',');
    return Object.fromEntries(models.flatMap(({ id }, i) => (ids[i] ? [[id, ids[i]]] : [])));
  });
  const text = models.map(({ id }) => runs[id] ?? '').join(',');
  useEffect(() => {
    void navigate({
      to: '/studio/compare',
      search: (before: object) => ({
        ...before,
        runs: text.replaceAll(',', '') ? text : undefined,
      }),
      replace: true,
    });
  }, [text, navigate]);
  return [runs, setRuns] as const;
}

/** One price for all, with a line for each model. */
function sumOf(models: Model[], quotes: Estimate[]): Estimate {
  const price = quotes.reduce((sum, each) => sum + BigInt(each.price_usd_micro), 0n);
  const { unit_price_by_resolution_usd_micro: _rates, ...first } = quotes[0]!;
  return {
    ...first,
    price_usd_micro: String(price),
    breakdown: quotes.map(({ price_usd_micro: amount }, i) => ({
      label: models[i]!.name,
      quantity: 1,
      unit_price_usd_micro: amount,
      amount_usd_micro: amount,
    })),
    assumptions: Object.assign({}, ...quotes.map(({ assumptions }) => assumptions)),
  };
}

function Column(props: {
  model: Model;
  price: string | undefined;
  request_id: string | undefined;
  press: PendingSubmit | undefined;
  again: (press: PendingSubmit) => void;
  drop: (press: PendingSubmit) => void;
}) {
  const { model, price, request_id, press, again, drop } = props;
  const { t } = useTranslation('studio');
  const { data: request, error, refetch } = useRequest(request_id);
  const [viewed, setViewed] = useState<number | null>(null);
  const seconds = useSeconds(model);
  const paid = request?.charged_usd_micro ?? request?.quoted_usd_micro ?? price;
  const goOn = request?.status === 'COMPLETED' && (
    <Button
      component={QueryLink}
      to={addressOf(model)}
      search={{ from: request.request_id }}
      variant="default"
      rightSection={<IconArrowRight size={16} />}
    >
      {t('compare.go_on', { name: model.name })}
    </Button>
  );
  return (
    <article
      className={classes.column}
      aria-label={model.name}
      data-compared={model.id}
      data-status={press?.isSending ? 'SENDING' : request?.status}
    >
      <div className={classes.head}>
        <Title order={2} fz="md" lineClamp={1}>
          {model.name}
        </Title>
        <Dimmed className="number">
          {paid !== undefined && <Usd micro={paid} price />}
          {seconds && ` · ${seconds}`}
        </Dimmed>
      </div>
      {press?.error ? (
        <Refused press={press} again={() => again(press)} drop={() => drop(press)} />
      ) : null}
      {error && <Failure error={error} retry={() => void refetch()} />}
      <div className={classes.place}>
        {request ? (
          <Result request={request} onView={setViewed} />
        ) : press?.isSending || request_id !== undefined ? (
          <Skeleton h="100%" aria-label={t('sending')} />
        ) : (
          <Text c="dimmed" m="auto">
            {t('compare.waiting')}
          </Text>
        )}
      </div>
      <div className={classes.foot}>{goOn}</div>
      <Suspense>
        {request && viewed !== null && (
          <Viewer
            request={request}
            at={viewed}
            onMove={(step) => {
              if (request.outputs[viewed + step]) setViewed(viewed + step);
            }}
            onClose={() => setViewed(null)}
            acts={goOn}
          />
        )}
      </Suspense>
    </article>
  );
}
