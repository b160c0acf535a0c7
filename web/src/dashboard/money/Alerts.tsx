import {
  Alert,
  Anchor,
  Button,
  Card,
  Checkbox,
  Group,
  Skeleton,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import { useFields } from '../../components/Form.tsx';
import { Dimmed, Heading } from '../../components/styles.ts';
import { notice } from '../../components/frame/notice.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ComponentProps, type FormEvent } from 'react';
import { ApiFailure } from '../../api.ts';
import type { AlertSettings } from '../../api-types.ts';
import { Failure, messageOf } from '../../components/Failure.tsx';
import { When } from '../../components/text.tsx';
import { formatUsd, parseUsd } from '../../money.ts';
import { useAccount, useAccountApi, useMay, useRoleForbids } from '../../session.tsx';
import { MoneyFrame } from './MoneyFrame.tsx';
import { useAccountQuery, useAccountKey } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

export function Alerts() {
  const { account_id } = useAccount();
  const settings = useAccountQuery('GET /alerts', {});
  const { data, error } = settings;
  return (
    <MoneyFrame part="alerts">
      {error && <Failure error={error} retry={() => void settings.refetch()} />}
      {settings.isPending && <Skeleton h={380} maw={640} radius="md" />}
      {data && <SettingsForm key={account_id} settings={data} />}
    </MoneyFrame>
  );
}

const switches = ['key_limits', 'failing_webhooks', 'failing_jobs'] as const;

/** Initial value of the field when no threshold is set. */
const usualThreshold = '5.00';

function SettingsForm({ settings }: { settings: AlertSettings }) {
  const { t } = useTranslation('money');
  const api = useAccountApi();
  const key = useAccountKey();
  const queries = useQueryClient();
  const pays = useMay('pay');
  const forbids = useRoleForbids('pay');
  const { low_balance_usd_micro: before } = settings;
  const { isMailed, hasWay } = waysOf(settings);
  const { values, field, tick } = useFields({
    on: before !== null && hasWay,
    threshold: before === null ? usualThreshold : formatUsd(before).replaceAll(',', ''),
    emails: settings.emails,
    url: settings.webhook_url ?? '',
    key_limits: settings.key_limits,
    failing_webhooks: settings.failing_webhooks,
    failing_jobs: settings.failing_jobs,
  });
  const { on, threshold, emails, url: typed, ...others } = values;
  const url = typed.trim();
  const amount = parseUsd(threshold);
  const isBad = on && (amount === null || amount <= 0n);
  const isHeard = (emails && isMailed) || url !== '';
  const [asked, setAsked] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      api('PUT /alerts', {
        body: {
          ...others,
          emails,
          low_balance_usd_micro: on ? String(amount) : hasWay ? null : before,
          webhook_url: url || null,
        },
      }),
    onSuccess: (data) => {
      queries.setQueryData(key('GET /alerts', {}), data);
      notice({ color: 'fare', message: t('saved') });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setAsked(true);
    if (!isBad) save.mutate();
  };
  const failure = save.error;
  const ofUrl = failure instanceof ApiFailure && failure.param === 'webhook_url';
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="lg" maw={640}>
        <Card withBorder padding="lg">
          <Heading mb={4}>{t('alert')}</Heading>
          <Dimmed mb="lg">{t('alert_text')}</Dimmed>
          <Stack gap="lg">
            <Switch label={t('alert_on')} disabled={!pays} {...tick('on')} />
            {on && (
              <>
                <TextInput
                  label={t('threshold')}
                  leftSection="$"
                  inputMode="decimal"
                  maw={240}
                  disabled={!pays}
                  error={asked && isBad ? t('threshold_bad') : undefined}
                  {...field('threshold')}
                />
                <Checkbox
                  label={t('email')}
                  description={<MailText settings={settings} />}
                  {...tick('emails')}
                  {...(!settings.has_mail && { checked: false })}
                  disabled={!pays || !settings.has_mail}
                />
                <TextInput
                  label={t('webhook')}
                  description={t('webhook_text')}
                  type="url"
                  placeholder="https://example.com/hooks/farebox"
                  disabled={!pays}
                  error={
                    ofUrl ? messageOf(failure, { webhook_url: t('webhook_address') }) : undefined
                  }
                  {...field('url')}
                />
                <Anchor component={Link} to="/dashboard/webhooks" size="sm" mt={-12}>
                  {t('webhook_docs')}
                </Anchor>
              </>
            )}
            {on && !isHeard && (
              <Text size="sm" role="status">
                {t(settings.has_mail ? 'no_way' : 'no_way_webhook')}
              </Text>
            )}
            {(!on || (hasWay && before !== null)) && <State settings={settings} />}
          </Stack>
        </Card>
        <Others settings={settings} disabled={!pays} tick={tick} />
        {failure && !ofUrl && <Failure error={failure} />}
        {pays && (
          <Group>
            <Button type="submit" loading={save.isPending}>
              {t('common:save')}
            </Button>
          </Group>
        )}
        {forbids && <Dimmed>{t('may_not_pay')}</Dimmed>}
      </Stack>
    </form>
  );
}

/** Whether anybody can be told by mail, or in any way: otherwise an alert is not on. */
function waysOf({ has_mail, recipients, emails, webhook_url }: AlertSettings) {
  const isMailed = has_mail && recipients.length > 0;
  return { isMailed, hasWay: (emails && isMailed) || webhook_url !== null };
}

/** Alerts that are only on or off. */
function Others(props: {
  settings: AlertSettings;
  disabled: boolean;
  tick: (name: (typeof switches)[number]) => ComponentProps<typeof Switch>;
}) {
  const { t } = useTranslation('money');
  const { settings, disabled, tick } = props;
  const { isMailed } = waysOf(settings);
  return (
    <Card withBorder padding="lg">
      <Heading mb={4}>{t('others')}</Heading>
      <Dimmed mb="lg">
        {t('others_text')} <MailText settings={settings} />
      </Dimmed>
      <Stack gap="lg">
        {switches.map((name) => (
          <Switch
            key={name}
            label={t(name)}
            description={t(`${name}_text`)}
            {...tick(name)}
            disabled={disabled || !isMailed}
            {...(!isMailed && { checked: false })}
          />
        ))}
      </Stack>
    </Card>
  );
}

function MailText({ settings: { has_mail, recipients } }: { settings: AlertSettings }) {
  const { t } = useTranslation('money');
  if (!has_mail) return t('email_off');
  if (recipients.length === 0) return t('email_nobody');
  return t('email_to', { to: recipients.join(', ') });
}

/** The state of the alert as saved. */
function State({ settings }: { settings: AlertSettings }) {
  const { t } = useTranslation('money');
  const { low_balance_usd_micro, notified_at } = settings;
  if (!waysOf(settings).hasWay) return <Dimmed>{t('state_no_way')}</Dimmed>;
  if (notified_at === null) {
    return <Dimmed>{low_balance_usd_micro === null ? t('state_off') : t('state_above')}</Dimmed>;
  }
  return (
    <Alert color="orange" p="sm">
      <Text size="sm">
        {t('state_notified')} <When at={notified_at} />
      </Text>
    </Alert>
  );
}
