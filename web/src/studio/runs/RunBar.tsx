import { Box, Button, Divider, Group, Popover, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconInfoCircle, IconPlayerPlay } from '@tabler/icons-react';
import { TopUpLink } from '../TopUpLink.tsx';
import { useId } from 'react';
import { Dimmed, Note } from '../../components/styles.ts';
import { messageOf } from '../../components/Failure.tsx';
import { Usd, When } from '../../components/text.tsx';
import type { Allowance, Estimate } from '../../api-types.ts';
import { briefUsd, formatUsd } from '../../money.ts';
import { stoppedText } from '../models.ts';
import { useFieldLabel } from '../form/Field.tsx';
import classes from '../Model.module.css';
import { shortBy } from '../price.ts';
import type { RunBlock } from './blocked.ts';
import { useTranslation } from '../../i18n.ts';

/** The price, the balance, and the run button. */
export function RunBar(props: {
  quote: Estimate | undefined;
  unpriced: Error | null;
  isFresh: boolean;
  allowance: Allowance | undefined;
  blocked: RunBlock | null;
  onRun: () => void;
}) {
  const { quote, unpriced, isFresh, allowance, blocked, onRun } = props;
  const { t } = useTranslation('studio');
  const id = useId();
  return (
    <Box className={classes.bar}>
      <Group justify="space-between" wrap="nowrap" gap="md" align="center">
        {/* Keeps its height while the price is loaded. */}
        <Box miw={0} mih={50} aria-live="polite">
          <Box mih={31}>
            {quote ? (
              <Price quote={quote} isFresh={isFresh} />
            ) : (
              <Text size="sm" c={unpriced ? undefined : 'dimmed'}>
                {unpriced ? t('unpriced') : t('pricing')}
              </Text>
            )}
          </Box>
          {allowance && (
            <Note mt={2}>
              {t('balance')} <Usd micro={allowance.available_usd_micro} />
            </Note>
          )}
        </Box>
        <Button
          size="md"
          leftSection={<IconPlayerPlay size={18} />}
          disabled={blocked !== null}
          // A double click or a held key must submit only once.
          onClick={({ detail }) => detail < 2 && onRun()}
          onKeyDown={(event) => event.repeat && event.preventDefault()}
          aria-describedby={blocked ? id : undefined}
          aria-keyshortcuts="Control+Enter"
          title="Ctrl Enter"
          flex="none"
        >
          {t('run')}
        </Button>
      </Group>
      {blocked && blocked.why !== 'pricing' && (
        <Text size="sm" mt={8} id={id} data-reason={blocked.why}>
          <Reason
            blocked={blocked}
            unpriced={unpriced}
            allowance={allowance}
            price={quote?.price_usd_micro}
          />
        </Text>
      )}
    </Box>
  );
}

function Reason(props: {
  blocked: RunBlock;
  unpriced: Error | null;
  allowance: Allowance | undefined;
  price: string | undefined;
}) {
  const { blocked, unpriced, allowance, price } = props;
  const { t } = useTranslation('studio');
  const label = useFieldLabel();
  if (blocked.why === 'missing')
    return t('blocked.missing', { fields: blocked.fields.map(label).join(', ') });
  if (blocked.why === 'stopped') return stoppedText(blocked.model, t);
  if (blocked.why === 'unpriced') return messageOf(unpriced);
  if (blocked.why === 'limit') {
    return (
      <>
        {t('blocked.limit', {
          limit: formatUsd(allowance?.limit_usd_micro ?? '0'),
          spent: formatUsd(allowance?.spent_usd_micro ?? '0'),
        })}{' '}
        {allowance?.resets_at && <When at={allowance.resets_at} as="date" />}
      </>
    );
  }
  if (blocked.why === 'balance') {
    return (
      <>
        {t('blocked.balance', { short: price && allowance ? shortBy(allowance, price) : '' })}{' '}
        <TopUpLink size="sm" />
      </>
    );
  }
  return t(`blocked.${blocked.why}`, { count: allowance?.open_jobs_limit ?? 0 });
}

/** The amount; hovering or tapping shows how it is computed. */
function Price({ quote, isFresh }: { quote: Estimate; isFresh: boolean }) {
  const { t } = useTranslation('studio');
  const [isOpen, { open, close, toggle }] = useDisclosure(false);
  return (
    <Popover
      opened={isOpen}
      onDismiss={close}
      position="top-start"
      withArrow
      shadow="md"
      width={340}
    >
      <Popover.Target>
        <UnstyledButton
          className={classes.price}
          onMouseEnter={open}
          onMouseLeave={close}
          onClick={toggle}
          aria-label={t('price_and_breakdown', { price: briefUsd(quote.price_usd_micro, 'up') })}
        >
          <Group gap={6} wrap="nowrap">
            <Text
              fz={24}
              fw={600}
              lh={1.15}
              className={isFresh ? undefined : classes.stale}
              data-price={quote.price_usd_micro}
              data-fresh={isFresh || undefined}
            >
              <Usd micro={quote.price_usd_micro} price />
            </Text>
            <IconInfoCircle size={16} color="var(--mantine-color-dimmed)" />
          </Group>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <Breakdown quote={quote} />
      </Popover.Dropdown>
    </Popover>
  );
}

function Breakdown({ quote }: { quote: Estimate }) {
  const { t } = useTranslation('studio');
  const assumed = Object.entries(quote.assumptions);
  const rates = Object.entries(quote.unit_price_by_resolution_usd_micro ?? {});
  return (
    <Stack gap={6} fz="sm">
      {quote.breakdown.map((line, i) => (
        <Group key={i} justify="space-between" wrap="nowrap" align="start">
          <Text size="sm">
            {line.label}{' '}
            <Dimmed span className="number">
              {line.quantity} × ${formatUsd(line.unit_price_usd_micro)}
            </Dimmed>
          </Text>
          <Usd micro={line.amount_usd_micro} />
        </Group>
      ))}
      <Divider />
      <Group justify="space-between" fw={600}>
        <Text size="sm" fw={600}>
          {t('in_all')}
        </Text>
        <Usd micro={quote.price_usd_micro} price />
      </Group>
      <Note>{t('most')}</Note>
      {assumed.length > 0 && (
        <Note>
          {t('assumed')}{' '}
          {assumed.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(', ')}
        </Note>
      )}
      {rates.length > 0 && (
        <Note>
          {t('by_resolution')}{' '}
          {rates.map(([name, rate]) => `${name} ${briefUsd(rate, 'up')}`).join(', ')}
        </Note>
      )}
    </Stack>
  );
}
