import { Alert, Button, Group, List, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { UpstreamDetail } from '../../api-types.ts';
import { useFields } from '../../components/Form.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { Dimmed, Dot, PlainButton } from '../../components/styles.ts';
import { When } from '../../components/text.tsx';
import { useAction, usePress } from '../action.ts';
import { useRightProps } from '../rights.ts';
import { useTranslation } from '../../i18n.ts';
import './upstreams-texts.ts';

type State = UpstreamDetail['state'];

const colors = { on: 'fare', draining: 'orange', off: 'red' };

/** Switches an upstream, and sets its key. */
export function UpstreamControl({ upstream }: { upstream: UpstreamDetail }) {
  const { t } = useTranslation('operator_upstreams');
  const actions = useRightProps();
  const act = useAction();
  const [asked, setAsked] = useState<State | 'key' | null>(null);
  const { name, state, changed, stored_key, variables } = upstream;
  const on = usePress(() => {
    const given = { params: { upstream: name }, body: { state: 'on' as const } };
    return act('PATCH /upstreams/:upstream', given, t('state_set.on', { name }));
  });
  return (
    <Stack gap="sm" align="flex-start">
      <Group gap="sm">
        <Dot color={colors[state]}>{t(`state.${state}`)}</Dot>
        {changed && (
          <Dimmed className="wrap">
            <When at={changed.at} /> · {changed.by}
          </Dimmed>
        )}
      </Group>
      {state !== 'on' && <Alert color="yellow">{t(`state_text.${state}`)}</Alert>}
      <Group gap="xs">
        {state !== 'on' && (
          <Button
            size="xs"
            loading={on.isPending}
            onClick={() => on.mutate()}
            {...actions('catalog')}
          >
            {t('switch.on')}
          </Button>
        )}
        {state !== 'draining' && (
          <PlainButton size="xs" onClick={() => setAsked('draining')} {...actions('catalog')}>
            {t('switch.draining')}
          </PlainButton>
        )}
        {state !== 'off' && (
          <PlainButton size="xs" onClick={() => setAsked('off')} {...actions('catalog')}>
            {t('switch.off')}
          </PlainButton>
        )}
        {variables.length > 0 && (
          <PlainButton size="xs" onClick={() => setAsked('key')} {...actions('catalog')}>
            {t('set_key')}
          </PlainButton>
        )}
      </Group>
      {stored_key && (
        <Dimmed className="wrap">
          {t('stored_key', { ends: stored_key.ends_with.map((end) => `…${end}`).join(', ') })}
        </Dimmed>
      )}
      {(asked === 'draining' || asked === 'off') && (
        <SwitchOff upstream={upstream} state={asked} onClose={() => setAsked(null)} />
      )}
      {asked === 'key' && <KeyDialog upstream={upstream} onClose={() => setAsked(null)} />}
    </Stack>
  );
}

function SwitchOff(props: {
  upstream: UpstreamDetail;
  state: 'draining' | 'off';
  onClose: () => void;
}) {
  const { upstream, state, onClose } = props;
  const { t } = useTranslation('operator_upstreams');
  const act = useAction();
  const { values, field } = useFields({ reason: '' });
  const { name, open } = upstream;
  const given = values.reason.trim() === '' ? {} : { reason: values.reason.trim() };
  return (
    <FormModal
      onClose={onClose}
      title={t(`switch_title.${state}`, { name })}
      submit={t(`switch.${state}`)}
      danger
      onSubmit={() =>
        act(
          'PATCH /upstreams/:upstream',
          { params: { upstream: name }, body: { state, ...given } },
          t(`state_set.${state}`, { name }),
        )
      }
    >
      <List size="sm" spacing={4}>
        <List.Item>{t('off_new')}</List.Item>
        <List.Item>{t('off_waiting', { count: open.waiting })}</List.Item>
        <List.Item>{t(`${state}_running`, { count: open.running })}</List.Item>
      </List>
      <TextInput label={t('log_reason')} maxLength={500} {...field('reason')} />
    </FormModal>
  );
}

function KeyDialog({ upstream, onClose }: { upstream: UpstreamDetail; onClose: () => void }) {
  const { t } = useTranslation('operator_upstreams');
  const act = useAction();
  const { values, field } = useFields({ key: '' });
  const { name, stored_key } = upstream;
  const set = (key: string | null) =>
    act(
      'PUT /upstreams/:upstream/key',
      { params: { upstream: name }, body: { key } },
      t(key === null ? 'key_removed' : 'key_set', { name }),
    );
  const remove = usePress(() => set(null), onClose);
  return (
    <FormModal
      onClose={onClose}
      title={t('key_title', { name })}
      submit={t('set_key')}
      disabled={values.key.trim() === ''}
      onSubmit={() => set(values.key.trim())}
    >
      <Text size="sm">{t('key_text')}</Text>
      <PasswordInput label={t('credential')} autoComplete="off" {...field('key')} />
      {stored_key && (
        <Group>
          <PlainButton size="xs" loading={remove.isPending} onClick={() => remove.mutate()}>
            {t('key_remove')}
          </PlainButton>
        </Group>
      )}
    </FormModal>
  );
}
