import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OperatorChain } from '../../api-types.ts';
import { FormModal } from '../../components/FormModal.tsx';
import { typed } from '../../components/typed.ts';
import { useAction } from '../action.ts';
import './chains-words.ts';

interface Of {
  chain: OperatorChain;
  onClose: () => void;
}

/** Resumes the reading of a stopped chain, where it stopped or from a lower block. */
export function ResumeDialog({ chain, onClose }: Of) {
  const { t } = useTranslation('operator_chains');
  const act = useAction();
  const [from, setFrom] = useState('');
  const submit = async () => {
    const given = { params: { chain: chain.chain }, body: { from_height: heightOf(from) } };
    await act('POST /chains/:chain/resume', given, t('resume_now'));
    onClose();
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('resume_title', { title: chain.title })}
      submit={t('resume')}
      disabled={isWrong(from)}
      onSubmit={submit}
    >
      <Text size="sm" fw={550} className="wrap">
        {chain.stopped_why}
      </Text>
      <Text size="sm">{t('resume_text')}</Text>
      <Height label={t('from')} hint={t('resume_from')} value={from} onChange={setFrom} />
    </FormModal>
  );
}

/** Reads earlier blocks again, while the reading of new blocks continues. */
export function RescanDialog({ chain, onClose }: Of) {
  const { t } = useTranslation('operator_chains');
  const act = useAction();
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const from_height = heightOf(from);
  const submit = async () => {
    const body = { from_height: from_height ?? 0, to_height: heightOf(to) };
    const given = { params: { chain: chain.chain }, body };
    await act('POST /chains/:chain/rescan', given, t('rescan_now'));
    onClose();
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('rescan_title', { title: chain.title })}
      submit={t('rescan')}
      disabled={from_height === undefined || isWrong(to)}
      onSubmit={submit}
    >
      <Text size="sm">{t('rescan_text')}</Text>
      <Height label={t('from')} value={from} onChange={setFrom} required />
      <Height label={t('to')} hint={t('rescan_to')} value={to} onChange={setTo} />
    </FormModal>
  );
}

function Height(props: {
  label: string;
  hint?: string;
  value: string;
  onChange: (value: string) => void;
  required?: boolean;
}) {
  const { t } = useTranslation('operator_chains');
  return (
    <TextInput
      label={props.label}
      description={props.hint}
      inputMode="numeric"
      autoComplete="off"
      data-autofocus
      required={props.required ?? false}
      error={isWrong(props.value) && t('bad_height')}
      {...typed(props.value, props.onChange)}
    />
  );
}

/** A typed block height as a number; undefined if it is not a height. */
function heightOf(text: string): number | undefined {
  const digits = text.replaceAll(/[\s,.’]/g, '');
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

function isWrong(text: string): boolean {
  return text.trim() !== '' && heightOf(text) === undefined;
}
