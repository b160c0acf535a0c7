import { CloseButton, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from '../../i18n.ts';

/** A search field; its text is reported a moment after the last key. */
export function SearchField(props: {
  label: string;
  hint: string;
  text: string;
  onChange: (text: string) => void;
}) {
  const { t } = useTranslation('common');
  const [typed, setTyped] = useState(props.text);
  const tell = useDebouncedCallback(props.onChange, 200);
  const change = (text: string) => {
    setTyped(text);
    tell(text.trim());
  };
  return (
    <TextInput
      type="search"
      aria-label={props.label}
      placeholder={props.hint}
      leftSection={<IconSearch size={18} />}
      rightSection={
        typed !== '' && <CloseButton size="sm" aria-label={t('close')} onClick={() => change('')} />
      }
      value={typed}
      onChange={(event) => change(event.currentTarget.value)}
      style={{ flex: '1 1 220px' }}
    />
  );
}
