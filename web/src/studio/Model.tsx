import './studio-texts.ts';
import { Anchor, Button, Group, Skeleton, Tabs } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link, Navigate, useNavigate } from '@tanstack/react-router';
import { QueryLink, usePathPart, useQueryOf } from '../address.ts';
import type { Model as ModelRow } from '../api-types.ts';
import { Failure } from '../components/Failure.tsx';
import { useTabTitle } from '../components/frame/PageTitle.tsx';
import { Empty } from '../components/list/Empty.tsx';
import { Dimmed } from '../components/styles.ts';
import { useAccount } from '../session.tsx';
import { Rate, useSeconds } from './form/Rate.tsx';
import { Uncensored } from './marks.tsx';
import classes from './Model.module.css';
import { addressOf } from './models.ts';
import { useModels } from './price.ts';
import { modelSearch, modelTabs } from './search.ts';
import { Switcher } from './Switcher.tsx';
import { Workbench } from './Workbench.tsx';
import { useTranslation } from '../i18n.ts';

/** One model: input, price and results. */
export function Model() {
  const { t } = useTranslation('studio');
  const id = usePathPart('_splat');
  const { tab = 'playground', ...search } = useQueryOf(modelSearch);
  const { account_id } = useAccount();
  const navigate = useNavigate();
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
  const open = (name: string | null) =>
    void navigate({
      to: addressOf(model),
      search: { tab: modelTabs.find((each) => each === name) },
      replace: true,
    });
  return (
    <Tabs value={tab} onChange={open}>
      <Head model={model} models={models.data} />
      {/* One panel for all: the form stays the same when the tab changes. */}
      <Tabs.Panel value={tab} tabIndex={-1}>
        <Workbench key={`${account_id} ${model.id}`} model={model} search={search} tab={tab} />
      </Tabs.Panel>
    </Tabs>
  );
}

/** The shape of what comes. */
function Waiting() {
  const { t } = useTranslation('common');
  return (
    <div role="status" aria-label={t('loading')}>
      <Skeleton h={28} w={220} mb={20} />
      <div className={classes.workbench}>
        <div className={classes.side}>
          <div className={classes.form}>
            {[92, 60, 60].map((height, i) => (
              <div key={i}>
                <Skeleton h={14} w={90} mb={8} />
                <Skeleton h={height} mb={20} />
              </div>
            ))}
          </div>
        </div>
        <div className={classes.right}>
          <Skeleton className={classes.waiting} />
          <Group gap={8} wrap="nowrap">
            {Array.from({ length: 6 }, (_, i) => (
              <Skeleton key={i} w={60} h={60} />
            ))}
          </Group>
        </div>
      </div>
    </div>
  );
}

/** On one line if there is room, so that price and button stay in view. */
function Head({ model, models }: { model: ModelRow; models: ModelRow[] }) {
  const { t } = useTranslation('studio');
  const seconds = useSeconds(model);
  useTabTitle(model.name);
  return (
    <div className={classes.heading}>
      <Switcher model={model} models={models} />
      <Dimmed>{t(`task.${model.task}`, { defaultValue: model.task })}</Dimmed>
      <Rate model={model} />
      {seconds && <Dimmed className="number">{seconds}</Dimmed>}
      {model.uncensored && <Uncensored />}
      <Anchor
        component={QueryLink}
        to="/studio/compare"
        search={{ models: model.id }}
        fz={13}
        py={4}
        display="inline-block"
      >
        {t('common:nav.compare')}
      </Anchor>
      <Tabs.List className={classes.tabs} aria-label={model.name}>
        <Tabs.Tab value="playground">{t('tabs.playground')}</Tabs.Tab>
        {modelTabs.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {t(`tabs.${name}`)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
    </div>
  );
}
