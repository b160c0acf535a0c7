import { Anchor, Box, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { Dimmed } from '../components/styles.ts';
import { notice } from '../components/frame/notice.ts';
import { IconArrowLeft, IconMapQuestion } from '@tabler/icons-react';
import './studio-texts.ts';
import { Link, Navigate, useNavigate } from '@tanstack/react-router';
import { usePathPart, useQueryOf } from '../address.ts';
import { modelSearch } from './search.ts';
import { useEffect, useMemo, useRef, useState } from 'react';
import { ApiFailure, faultsIn } from '../api.ts';
import { Copy } from '../components/Copy.tsx';
import { Empty } from '../components/list/Empty.tsx';
import { Failure, showFailure } from '../components/Failure.tsx';
import { formatUsd } from '../money.ts';
import { useAccount, useMay } from '../session.tsx';
import { useDraft, type Input } from './form/draft.ts';
import { addressOf, Uncensored, facts } from './Gallery.tsx';
import { InputForm } from './form/InputForm.tsx';
import classes from './Model.module.css';
import type { Model as ModelRow } from '../api-types.ts';
import { usd } from './models.ts';
import { shortage, useAllowance, useModels, useQuote } from './price.ts';
import { Rate } from './form/Rate.tsx';
import { RunBar, type Blocked } from './runs/RunBar.tsx';
import { Runs } from './runs/Runs.tsx';
import { shownAs, useCard, useOutput, usePresses } from './runs/runs.ts';
import { anotherSeed, defaultsOf, fieldsOf, mediaOf, missing, type Field } from './form/schema.ts';
import { useTranslation } from '../i18n.ts';

/** One model: input, price and results. */
export function Model() {
  const { t } = useTranslation('studio');
  const id = usePathPart('_splat');
  const search = useQueryOf(modelSearch);
  const { account_id } = useAccount();
  const models = useModels();
  if (models.error) return <Failure error={models.error} retry={() => void models.refetch()} />;
  if (!models.data) return <Waiting />;
  const model = models.data.find((each) => each.id === id);
  if (!model) {
    return (
      <Empty
        order={1}
        icon={<IconMapQuestion />}
        title={t('no_model_title')}
        text={t('no_model_text')}
      >
        <Button component={Link} to="/studio">
          {t('all_models')}
        </Button>
      </Empty>
    );
  }
  if (model.kind === 'text') {
    return <Navigate to="/studio/chat" search={{ model: model.id }} replace />;
  }
  return <Workbench key={`${account_id} ${model.id}`} model={model} search={search} />;
}

function Waiting() {
  return (
    <Stack>
      <Skeleton h={32} w={260} />
      <div className={classes.workbench}>
        <Skeleton h={420} radius="md" />
        <Skeleton h={300} radius="md" />
      </div>
    </Stack>
  );
}

type Wrong = Record<string, string>;

function Workbench(props: { model: ModelRow; search: { from?: string; use?: string } }) {
  const { model, search } = props;
  const { t } = useTranslation('studio');
  const { account_id, status } = useAccount();
  const mayRun = useMay('build');
  const fields = useMemo(() => fieldsOf(model.input_schema), [model]);
  const priced = useMemo(() => pricedFields(model), [model]);
  const draft = useDraft(`farebox-draft ${account_id} ${model.id}`, () =>
    defaultsOf(model.input_schema),
  );
  const [isBroken, setBroken] = useState(false);
  const [wrong, setWrong] = useState<Wrong>({});
  const { quote, error: unpriced, isFresh } = useQuote(model.id, draft.input, fields, priced);
  const allowance = useAllowance();
  const { presses, press, again, drop } = usePresses(model.id, model.kind, (shown, fixed) =>
    notice({
      color: 'orange',
      message: t('price_moved', { shown: formatUsd(shown), fixed: formatUsd(fixed) }),
    }),
  );
  useFilling(model, fields, search, draft.replace, draft.set);
  useWrong(presses[0]?.error, setWrong);
  const isWide = useMediaQuery('(min-width: 62em)') ?? true;

  const lacking = missing(fields, draft.input);
  const blocked = ((): Blocked | null => {
    if (status !== 'active') return { why: 'suspended' };
    if (!mayRun) return { why: 'role' };
    if (isBroken) return { why: 'json' };
    if (lacking.length > 0) return { why: 'missing', fields: lacking };
    if (unpriced) return { why: 'unpriced' };
    if (!quote || !allowance) return { why: 'pricing' };
    const short = shortage(allowance, quote.price_usd_micro);
    if (short) return { why: short };
    return isFresh ? null : { why: 'pricing' };
  })();

  const results = useRef<HTMLElement>(null);
  const run = (input: Input = draft.input, shown = quote?.price_usd_micro) => {
    setWrong({});
    press(input, shown);
    // On narrow screens the results are below the form: scroll to them.
    if (!isWide) results.current?.scrollIntoView({ block: 'start' });
  };
  const set = (field: string, value: unknown) => {
    setWrong(({ [field]: _gone, ...rest }) => rest);
    draft.set(field, value);
  };
  const [seed] = fields.flatMap(({ name, control }) =>
    control.as === 'seed' ? [{ name, ...control }] : [],
  );
  const actions = {
    fill: (input: Input) => {
      draft.replace(input);
      setWrong({});
      window.scrollTo({ top: 0, behavior: 'smooth' });
      notice({ message: t('filled') });
    },
    rerun:
      seed && mayRun
        ? (input: Input, shown: string) =>
            run({ ...input, [seed.name]: anotherSeed(seed.min, seed.max) }, shown)
        : null,
  };

  const shown = unpriced instanceof ApiFailure && unpriced.param ? unpriced : null;
  const errors = shown ? { [shown.param!]: said(shown), ...wrong } : wrong;
  const bar = (
    <RunBar
      quote={quote}
      unpriced={unpriced}
      isFresh={isFresh}
      allowance={allowance}
      blocked={blocked}
      onRun={() => run()}
    />
  );
  return (
    <>
      <ModelHeading model={model} />
      <div className={classes.workbench}>
        <About model={model} />
        <section className={classes.side} aria-label={t('input')}>
          <div className={classes.form}>
            <InputForm
              model={model}
              fields={fields}
              priced={priced}
              input={draft.input}
              set={set}
              replace={(input) => {
                setWrong({});
                draft.replace(input);
              }}
              errors={errors}
              assumed={quote?.assumptions ?? {}}
              onBroken={setBroken}
              onRun={() => blocked === null && run()}
            />
          </div>
          {isWide && bar}
        </section>
        <section ref={results} aria-label={t('results')} className={classes.results}>
          <Runs model={model} presses={presses} again={again} drop={drop} actions={actions} />
        </section>
      </div>
      {!isWide && <Box className={classes.bottom}>{bar}</Box>}
    </>
  );
}

/** Fields that affect the price. */
function pricedFields(model: ModelRow): Set<string> {
  const ofUnit = { sec: ['duration_seconds'], image: ['num_images'], request: [], MP: sizes };
  const unit = model.unit === '1M tokens' ? [] : ofUnit[model.unit];
  const extras = model.extras.map(({ field }) => field);
  return new Set([...unit, ...extras, ...(model.resolutions.length > 0 ? ['resolution'] : [])]);
}

const sizes = ['num_images', 'image_size', 'width', 'height', 'resolution', 'aspect_ratio'];

/** Shows the service's errors at the fields that they name. */
function useWrong(error: unknown, setWrong: (wrong: Wrong) => void): void {
  useEffect(() => {
    if (!(error instanceof ApiFailure) || error.status !== 400) return;
    const list = faultsIn(error.details);
    const wrong: Wrong = {};
    for (const fault of list) {
      const [, name = '', ...inside] = fault.path.split('/').map(unescaped);
      const place = inside.length > 0 ? `${inside.join('.')}: ` : '';
      if (name !== '') wrong[name] ??= `${place}${said(fault)}`;
    }
    if (list.length === 0 && error.param) wrong[error.param] = said(error);
    setWrong(wrong);
  }, [error, setWrong]);
}

/** Unescapes a segment of a JSON pointer. */
function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Prefills the form from the address: the input of a request, or one of its outputs. */
function useFilling(
  model: ModelRow,
  fields: Field[],
  { from, use }: { from?: string; use?: string },
  replace: (input: Input) => void,
  set: (field: string, value: unknown) => void,
): void {
  const { t } = useTranslation('studio');
  const navigate = useNavigate();
  const card = useCard(from);
  const [used, index = '0'] = use?.split('.') ?? [];
  const output = useOutput(
    used === undefined ? undefined : { request_id: used, status: 'COMPLETED' },
  );
  const failure = card.error ?? output.error;
  const done = () => void navigate({ to: addressOf(model), search: {}, replace: true });

  useEffect(() => {
    if (!card.data) return;
    if (card.data.model_id !== model.id) {
      void navigate({ to: addressOf({ id: card.data.model_id }), search: { from }, replace: true });
      return;
    }
    replace(card.data.input);
    notice({ message: t('filled') });
    done();
    // Only once, when the request is loaded.
  }, [card.data]);
  useEffect(() => {
    const medium = output.data?.media[Number(index)];
    if (!medium) return;
    const field = fields.find(({ name }) => mediaOf(name) === shownAs(medium));
    const isList = field?.control.as === 'media_list';
    if (field) set(field.name, isList ? [medium.url] : medium.url);
    done();
    // Only once, when the output is loaded.
  }, [output.data]);
  useEffect(() => {
    if (failure) showFailure(failure);
  }, [failure]);
}

/** On one line if there is room, so that price and button stay in view. */
function ModelHeading({ model }: { model: ModelRow }) {
  const { t } = useTranslation('studio');
  useEffect(() => {
    document.title = `${model.name} · Farebox`;
  }, [model.name]);
  return (
    <div className={classes.heading}>
      <Switcher model={model} models={models} />
      <Dimmed>{t(`task.${model.task}`, { defaultValue: model.task })}</Dimmed>
      <Rate model={model} />
      {seconds && <Dimmed className="number">{seconds}</Dimmed>}
      {model.uncensored && <Uncensored />}
      <Group gap={4} wrap="nowrap" miw={0}>
        <Dimmed ff="monospace" truncate>
          {model.id}
        </Dimmed>
        <Copy text={model.id} what={t('model_id')} />
      </Group>
    </div>
  );
}

function About({ model }: { model: ModelRow }) {
  const { t } = useTranslation('studio');
  const extras = model.extras.map(
    ({ label, add_usd }) => `${label} + ${usd(add_usd)} ${t(`rate.${model.unit}`)}`,
  );
  return (
    <Stack gap={6} className={classes.about}>
      <Text c="dimmed" maw={720}>
        {model.description}
      </Text>
      <Group gap="xs">
        <Rate model={model} size="md" />
        <Dimmed>
          {[
            t(`task.${model.task}`, { defaultValue: model.task }),
            model.owned_by,
            ...facts(model, t),
            ...extras,
          ].join(' · ')}
        </Dimmed>
      </Group>
    </Stack>
  );
}
