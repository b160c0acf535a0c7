import { Box, Group, Stack, Text } from '@mantine/core';
import { useMemo, useRef, useState } from 'react';
import { programs } from '../../../server/src/core/snippets.ts';
import { ApiFailure } from '../api.ts';
import type { Model } from '../api-types.ts';
import { Copy } from '../components/Copy.tsx';
import { useIsNarrow } from '../components/narrow.ts';
import { notice } from '../components/frame/notice.ts';
import { Snippet } from '../components/Snippet.tsx';
import { Dimmed, Note } from '../components/styles.ts';
import { useSettings } from '../entry/signing-in.ts';
import { formatUsd } from '../money.ts';
import { useAccount, useMay } from '../session.tsx';
import { useFilling, useFaults, type Faults } from './filling.ts';
import { useDraft, type Input } from './form/draft.ts';
import { InputForm } from './form/InputForm.tsx';
import { anotherSeed, defaultsOf, fieldsOf } from './form/schema.ts';
import { facts } from './marks.tsx';
import classes from './Model.module.css';
import { usd } from './models.ts';
import { pricedFields, useAllowance, useQuote } from './price.ts';
import { useBlocked } from './runs/blocked.ts';
import { RunBar } from './runs/RunBar.tsx';
import { usePendingSubmits } from './runs/runs.ts';
import { Stage } from './runs/Stage.tsx';
import type { ModelTab } from './search.ts';
import { errorText, useTranslation } from '../i18n.ts';

interface Props {
  model: Model;
  search: { from?: string | undefined; use?: string | undefined };
  tab: ModelTab | 'playground';
}

/** The form of a model beside its newest result, beside its code, or beside what it is. */
export function Workbench({ model, search, tab }: Props) {
  const { t } = useTranslation('studio');
  const { account_id } = useAccount();
  const mayRun = useMay('build');
  const fields = useMemo(() => fieldsOf(model.input_schema), [model]);
  const priced = useMemo(() => pricedFields(model), [model]);
  const draft = useDraft(`farebox-draft ${account_id} ${model.id}`, () =>
    defaultsOf(model.input_schema),
  );
  const [isBroken, setBroken] = useState(false);
  const [wrong, setWrong] = useState<Faults>({});
  const [chosen, setChosen] = useState<string | null>(null);
  const { quote, error: unpriced, isFresh } = useQuote(model.id, draft.input, fields, priced);
  const allowance = useAllowance();
  const { presses, press, again, drop } = usePendingSubmits(model.id, {
    onPriced: usePriceMoved(),
    onAccepted: (_model, request_id) => setChosen(request_id),
  });
  useFilling(model, fields, search, draft.replace, draft.set);
  useFaults(presses[0]?.error, setWrong);
  const isWide = !useIsNarrow('61.99em');

  const state = { fields, input: draft.input, isBroken, quote, unpriced, isFresh, allowance };
  const blocked = useBlocked({ models: [model], ...state });
  const right = useRef<HTMLDivElement>(null);
  const run = (input: Input = draft.input, shown = quote?.price_usd_micro) => {
    setWrong({});
    press(model.id, input, shown);
    // On narrow screens the results are above the form.
    if (!isWide) right.current?.scrollIntoView({ block: 'start' });
  };
  const set = (field: string, value: unknown) => {
    setWrong(({ [field]: _gone, ...rest }) => rest);
    draft.set(field, value);
  };
  const replace = (input: Input) => {
    setWrong({});
    draft.replace(input);
  };
  const [seed] = fields.flatMap(({ name, control }) =>
    control.as === 'seed' ? [{ name, ...control }] : [],
  );
  const actions = {
    fill: (input: Input) => {
      replace(input);
      notice({ message: t('filled') });
    },
    again: mayRun ? run : null,
    reseed:
      seed && mayRun
        ? (input: Input, shown: string) =>
            run({ ...input, [seed.name]: anotherSeed(seed.min, seed.max) }, shown)
        : null,
  };

  const shown = unpriced instanceof ApiFailure && unpriced.param ? unpriced : null;
  const errors = shown ? { [shown.param!]: errorText(shown), ...wrong } : wrong;
  const bar = <RunBar {...state} blocked={blocked} onRun={() => run()} />;
  return (
    <>
      <div className={classes.workbench}>
        <section className={classes.side} aria-label={t('input')}>
          <div className={classes.form}>
            <InputForm
              model={model}
              fields={fields}
              priced={priced}
              input={draft.input}
              set={set}
              replace={replace}
              errors={errors}
              assumed={quote?.assumptions ?? {}}
              onBroken={setBroken}
              onRun={() => blocked === null && run()}
            />
          </div>
          {isWide && bar}
        </section>
        <div ref={right} className={classes.right}>
          {tab === 'code' ? (
            <Program model={model} input={draft.input} />
          ) : tab === 'about' ? (
            <About model={model} />
          ) : (
            <Stage
              model={model}
              presses={presses}
              again={again}
              drop={drop}
              actions={actions}
              chosen={chosen}
              onChoose={setChosen}
            />
          )}
        </div>
      </div>
      {!isWide && (
        <Box className={classes.bottom} data-submit-bar>
          {bar}
        </Box>
      )}
    </>
  );
}

/** Tells that a run costs another price than the one that was shown. */
export function usePriceMoved(): (shown: string, fixed: string) => void {
  const { t } = useTranslation('studio');
  return (shown, fixed) =>
    notice({
      color: 'orange',
      autoClose: false,
      message: t('price_moved', { shown: formatUsd(shown), fixed: formatUsd(fixed) }),
    });
}

/** Programs that make the call of the form as it is filled in now. */
function Program({ model, input }: { model: Model; input: Input }) {
  const { t } = useTranslation('studio');
  const settings = useSettings();
  const { id: model_id, kind } = model;
  return (
    <section aria-label={t('tabs.code')} className={classes.reading}>
      <Dimmed mb="sm">{t('code_text')}</Dimmed>
      {settings && (
        <Snippet
          what={t('tabs.code')}
          code={programs({ base_url: settings.base_url, model_id, kind, input })}
        />
      )}
    </section>
  );
}

function About({ model }: { model: Model }) {
  const { t } = useTranslation('studio');
  const extras = model.extras.map(
    ({ label, add_usd }) => `${label} + ${usd(add_usd)} ${t(`rate.${model.unit}`)}`,
  );
  return (
    <section aria-label={t('tabs.about')} className={classes.reading}>
      <Stack gap="sm">
        <Text>{model.description}</Text>
        <Dimmed>{[model.owned_by, ...facts(model, t), ...extras].join(' · ')}</Dimmed>
        <Group gap={4} wrap="nowrap" miw={0}>
          <Dimmed ff="monospace" className="wrap">
            {model.id}
          </Dimmed>
          <Copy text={model.id} what={t('model_id')} />
        </Group>
        <Note component="a" href={`/models/${model.id}`}>
          {t('public_page')}
        </Note>
      </Stack>
    </section>
  );
}
