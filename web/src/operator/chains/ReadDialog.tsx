import { Text, TextInput, type TextInputProps } from '@mantine/core';
import type { OperatorChain } from '../../api-types.ts';
import { FormModal } from '../../components/FormModal.tsx';
import { useFields } from '../../components/Form.tsx';
import { useAction } from '../action.ts';
import { useTranslation } from '../../i18n.ts';
import './chains-texts.ts';

interface ReadProps {
  chain: OperatorChain;
  onClose: () => void;
}

/** Resumes the reading of a stopped chain, where it stopped or from a lower block. */
export function ResumeDialog({ chain, onClose }: ReadProps) {
  const { t } = useTranslation('operator_chains');
  const act = useAction();
  const { values, field } = useFields({ from: '' });
  const given = { params: { chain: chain.chain }, body: { from_height: heightOf(values.from) } };
  return (
    <FormModal
      onClose={onClose}
      title={t('resume_title', { title: chain.title })}
      submit={t('resume')}
      disabled={isWrong(values.from)}
      onSubmit={() => act('POST /chains/:chain/resume', given, t('resume_now'))}
    >
      <Text size="sm" fw={500} className="wrap">
        {chain.stopped_why}
      </Text>
      <Text size="sm">{t('resume_text')}</Text>
      <Height label={t('from')} hint={t('resume_from')} {...field('from')} />
    </FormModal>
  );
}

/** Reads earlier blocks again, while the reading of new blocks continues. */
export function RescanDialog({ chain, onClose }: ReadProps) {
  const { t } = useTranslation('operator_chains');
  const act = useAction();
  const { values, field } = useFields({ from: '', to: '' });
  const from_height = heightOf(values.from);
  const body = { from_height: from_height ?? 0, to_height: heightOf(values.to) };
  const given = { params: { chain: chain.chain }, body };
  return (
    <FormModal
      onClose={onClose}
      title={t('rescan_title', { title: chain.title })}
      submit={t('rescan')}
      disabled={from_height === undefined || isWrong(values.to)}
      onSubmit={() => act('POST /chains/:chain/rescan', given, t('rescan_now'))}
    >
      <Text size="sm">{t('rescan_text')}</Text>
      <Height label={t('from')} {...field('from')} required />
      <Height label={t('to')} hint={t('rescan_to')} {...field('to')} />
    </FormModal>
  );
}

function Height({ hint, ...props }: TextInputProps & { hint?: string; value: string }) {
  const { t } = useTranslation('operator_chains');
  return (
    <TextInput
      description={hint}
      inputMode="numeric"
      autoComplete="off"
      data-autofocus
      error={isWrong(props.value) && t('bad_height')}
      {...props}
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
