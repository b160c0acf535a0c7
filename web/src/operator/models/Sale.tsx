import { ActionIcon, Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import type { CatalogRowDetail } from '../../api-types.ts';
import { ForeignChange, Form, isSame, useDraft } from '../../components/Form.tsx';
import { isAmount, MoneyInput } from '../../components/MoneyInput.tsx';
import { Dimmed, Heading, Note, PlainButton } from '../../components/styles.ts';
import { useAction, usePress } from '../action.ts';
import { useRightProps } from '../rights.ts';
import { StoppedBy } from '../margin.tsx';
import './catalog-texts.ts';
import { StopDialog } from './StopDialog.tsx';
import { decimal, priceForm, routesText, priceText } from './sale.ts';
import { useTranslation } from '../../i18n.ts';
import type { Translate } from '../../texts/format.ts';
import { NumberInput } from '../../components/NumberInput.tsx';

interface Props {
  row: CatalogRowDetail;
  /** Reads the row again. */
  reload: () => Promise<{ data: CatalogRowDetail | undefined }>;
}

/** How a row is sold, each part with its editor: on or off, list price, upstreams. */
export function Sale(props: Props) {
  const { t } = useTranslation('operator_catalog');
  const { row } = props;
  return (
    <Stack gap="lg" maw={680}>
      <Selling row={row} />
      {row.override?.unfit.map((part) => (
        <Text key={part} size="sm" c="var(--warn)">
          {t(`unfit.${part}`)}
        </Text>
      ))}
      <PriceEditor {...props} />
      {row.filed.upstreams.length > 1 && <RoutesEditor {...props} />}
    </Stack>
  );
}

function Selling({ row }: { row: CatalogRowDetail }) {
  const { t } = useTranslation('operator_catalog');
  const actions = useRightProps();
  const act = useAction();
  const [isAsking, setAsking] = useState(false);
  const resume = usePress(() => {
    const given = { params: { '*': row.id }, body: { status: 'live' as const } };
    return act('PATCH /models/*', given, t('resumed', { name: row.name }));
  });
  if (row.stopped === null)
    return (
      <Group>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconPlayerPause size={16} />}
          onClick={() => setAsking(true)}
          {...actions('catalog')}
        >
          {t('stop')}
        </Button>
        {isAsking && <StopDialog row={row} onClose={() => setAsking(false)} />}
      </Group>
    );
  const { status_note: note } = row.stopped;
  return (
    <Alert color="yellow" title={t('stopped')} icon={<IconPlayerPause size={18} />}>
      <Stack gap="sm" align="flex-start">
        {t('stopped_text')}
        <Text size="sm" className="wrap">
          {note === null ? t('no_note') : t('note_is', { note })}
        </Text>
        <StoppedBy {...row.stopped} />
        <Button
          size="xs"
          leftSection={<IconPlayerPlay size={16} />}
          loading={resume.isPending}
          onClick={() => resume.mutate()}
          {...actions('catalog')}
        >
          {t('resume')}
        </Button>
      </Stack>
    </Alert>
  );
}

/** Saves unless somebody has changed this part since it was shown; then that is shown first. */
function useChange({ row, reload }: Props, part: 'price' | 'upstreams', done: string) {
  const act = useAction();
  return async (given: object) => {
    const { data } = await reload();
    if (data && !isSame(data.sold[part], row.sold[part])) return;
    await act('PATCH /models/*', { params: { '*': row.id }, body: given }, done);
  };
}

function PriceEditor(props: Props) {
  const { row } = props;
  const { t } = useTranslation('operator_catalog');
  const lacks = useRightProps()('catalog').disabled ?? false;
  const sold = priceForm(row.sold.price);
  const { value: rates, set: setRates, take, isOther } = useDraft(sold);
  const change = useChange(props, 'price', t('price_set', { name: row.name }));
  const isWhole = Object.values(rates).every((rate) => isAmount(rate, 'from_zero'));
  return (
    <section aria-label={t('price')}>
      <Heading mb={4}>{t('price')}</Heading>
      <Dimmed mb="sm">{t('price_text')}</Dimmed>
      <Form
        onSubmit={() => change({ price: rates })}
        action={t('save_price')}
        disabled={lacks || isSame(rates, sold) || !isWhole}
        gap="sm"
      >
        {isOther && <ForeignChange now={priceText(row.sold.price)} take={take} />}
        <Group gap="sm" align="flex-start">
          {Object.entries(rates).map(([name, rate]) => (
            <MoneyInput
              key={name}
              label={rateLabel(name, row, t)}
              value={rate}
              allows="from_zero"
              w={180}
              onChange={(text) => setRates((before) => ({ ...before, [name]: decimal(text) }))}
            />
          ))}
        </Group>
        {row.losses.map((loss) => (
          <Text key={loss} size="sm" c="var(--warn)" className="wrap">
            {row.name}: {loss}.
          </Text>
        ))}
      </Form>
      {row.override?.price != null && (
        <AsFiled
          text={t('filed_price', { price: priceText(row.filed.price) })}
          reset={() => change({ price: null })}
        />
      )}
    </section>
  );
}

function rateLabel(name: string, { unit }: CatalogRowDetail, t: Translate): string {
  const per = t(`per.${unit}`);
  if (name === 'usd') return per;
  const known = ['input', 'output', 'cached_input', 'cache_write'].includes(name);
  return `${known ? t(name) : name}, ${per}`;
}

function RoutesEditor(props: Props) {
  const { row } = props;
  const { t } = useTranslation('operator_catalog');
  const lacks = useRightProps()('catalog').disabled ?? false;
  const { value: routes, set: setRoutes, take, isOther } = useDraft(row.sold.upstreams);
  const others = row.filed.upstreams.filter(
    (each) => !routes.some(({ name, model }) => name === each.name && model === each.model),
  );
  const change = useChange(props, 'upstreams', t('routes_set', { name: row.name }));
  const hasShares = routes.some(({ share }) => share !== null);
  // In tenths, because sums of fractions are not exact.
  const sum = routes.reduce((all, { share }) => all + Math.round(10 * (share ?? 0)), 0) / 10;
  const move = (at: number, by: 1 | -1) =>
    setRoutes((before) => before.toSpliced(at, 1).toSpliced(at + by, 0, before[at]!));
  const set = (at: number, share: number | null) =>
    setRoutes((before) => before.map((each, i) => (i === at ? { ...each, share } : each)));
  return (
    <section aria-label={t('order')}>
      <Heading mb={4}>{t('order')}</Heading>
      <Dimmed mb="sm">{t('routes_text')}</Dimmed>
      <Form
        onSubmit={() => change({ upstreams: routes })}
        action={t('save_routes')}
        disabled={
          lacks ||
          isSame(routes, row.sold.upstreams) ||
          routes.length === 0 ||
          (hasShares && sum !== 100)
        }
        gap="sm"
      >
        {isOther && <ForeignChange now={routesText(row.sold.upstreams)} take={take} />}
        {routes.map((route, at) => (
          <Group key={`${route.name} ${route.model}`} gap="sm" wrap="wrap">
            <Text size="sm" flex="1 1 160px" className="wrap">
              {at + 1}. {route.name} <Note span>{route.model}</Note>
            </Text>
            <NumberInput
              aria-label={t('share_of', { name: route.name })}
              placeholder={t('share')}
              suffix=" %"
              min={0}
              max={100}
              decimalScale={1}
              w={110}
              value={route.share ?? ''}
              onChange={(share) => set(at, share === '' ? null : Number(share))}
            />
            <Group gap={4} wrap="nowrap">
              <Arrow
                label={t('up', { name: route.name })}
                off={at === 0}
                onClick={() => move(at, -1)}
                up
              />
              <Arrow
                label={t('down', { name: route.name })}
                off={at === routes.length - 1}
                onClick={() => move(at, 1)}
              />
              <PlainButton
                size="xs"
                disabled={routes.length === 1}
                onClick={() => setRoutes((before) => before.toSpliced(at, 1))}
              >
                {t('leave_out')}
              </PlainButton>
            </Group>
          </Group>
        ))}
        {others.map((route) => (
          <Group key={`${route.name} ${route.model}`} gap="sm">
            <Dimmed flex="1 1 160px">{t('left', { name: route.name })}</Dimmed>
            <PlainButton
              size="xs"
              onClick={() =>
                setRoutes((before) => [...before, { ...route, share: hasShares ? 0 : null }])
              }
            >
              {t('use')}
            </PlainButton>
          </Group>
        ))}
        {hasShares && sum !== 100 && (
          <Text size="sm" c="var(--bad)" role="status">
            {t('shares_sum', { sum })}
          </Text>
        )}
      </Form>
      {row.override?.upstreams != null && (
        <AsFiled
          text={t('filed_routes', { routes: routesText(row.filed.upstreams) })}
          reset={() => change({ upstreams: null })}
        />
      )}
    </section>
  );
}

function Arrow(props: { label: string; off: boolean; up?: boolean; onClick: () => void }) {
  const Icon = props.up ? IconArrowUp : IconArrowDown;
  return (
    <ActionIcon
      variant="default"
      size={30}
      aria-label={props.label}
      disabled={props.off}
      onClick={props.onClick}
    >
      <Icon size={16} />
    </ActionIcon>
  );
}

/** The file's value, and a way back to it. */
function AsFiled({ text, reset }: { text: string; reset: () => Promise<unknown> }) {
  const { t } = useTranslation('operator_catalog');
  const actions = useRightProps();
  const back = usePress(reset);
  return (
    <Group gap="sm" mt="sm">
      <Dimmed className="wrap">{text}</Dimmed>
      <PlainButton
        size="xs"
        loading={back.isPending}
        onClick={() => back.mutate()}
        {...actions('catalog')}
      >
        {t('as_filed')}
      </PlainButton>
    </Group>
  );
}
