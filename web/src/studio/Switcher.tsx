import { Combobox, Text, Title, UnstyledButton, useCombobox } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { Model } from '../api-types.ts';
import { Note } from '../components/styles.ts';
import classes from './Model.module.css';
import { addressOf, filterModels } from './models.ts';
import { useTranslation } from '../i18n.ts';

/** The name of the shown model; pressing it offers the others. */
export function Switcher({ model, models }: { model: Model; models: Model[] }) {
  const { t } = useTranslation('studio');
  const navigate = useNavigate();
  const [q, setQ] = useState('');
  const button = useRef<HTMLButtonElement>(null);
  const combobox = useCombobox({
    onDropdownClose: () => {
      setQ('');
      combobox.resetSelectedOption();
      button.current?.focus();
    },
    onDropdownOpen: () => combobox.focusSearchInput(),
  });
  const found = filterModels(models, { q }).filter(({ kind }) => kind !== 'text');
  return (
    <Combobox
      store={combobox}
      width={340}
      position="bottom-start"
      // Inside the content, where screen readers expect it.
      withinPortal={false}
      // A press beside it only closes it: what it half covers would be too small a target.
      floatingStrategy="fixed"
      withOverlay
      overlayProps={{ backgroundOpacity: 0, fixed: true }}
      onOptionSubmit={(id) => {
        combobox.closeDropdown();
        void navigate({ to: addressOf({ id }) });
      }}
    >
      <Combobox.DropdownTarget>
        <Title order={1} className={classes.title}>
          <UnstyledButton
            ref={button}
            className={classes.switcher}
            onClick={() => combobox.toggleDropdown()}
            aria-haspopup="listbox"
            aria-expanded={combobox.dropdownOpened}
            title={t('switch_model')}
          >
            <span className={classes.name}>{model.name}</span>
            <IconChevronDown size={16} />
          </UnstyledButton>
        </Title>
      </Combobox.DropdownTarget>
      <Combobox.Dropdown>
        <Combobox.Search
          role="combobox"
          aria-expanded
          value={q}
          onChange={({ currentTarget }) => {
            setQ(currentTarget.value);
            combobox.selectFirstOption();
          }}
          placeholder={t('gallery.search')}
          aria-label={t('gallery.search')}
        />
        <Combobox.Options mah={360} style={{ overflowY: 'auto' }} aria-label={t('switch_model')}>
          {found.map((each) => (
            <Combobox.Option key={each.id} value={each.id} active={each.id === model.id}>
              <Text size="sm" fw={each.id === model.id ? 600 : 400}>
                {each.name}
              </Text>
              <Note>{t(`task.${each.task}`, { defaultValue: each.task })}</Note>
            </Combobox.Option>
          ))}
          {found.length === 0 && <Combobox.Empty>{t('gallery.none_title')}</Combobox.Empty>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
