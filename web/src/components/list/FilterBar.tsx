import { Combobox, Pill, PillsInput, useCombobox } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type KeyboardEvent, type ReactNode, useState } from 'react';
import classes from './FilterBar.module.css';
import { useTranslation } from '../../i18n.ts';

/** A value that a list can be filtered by. */
export interface FilterChoice {
  /** The filter, such as `status`. */
  name: string;
  value: string;
  label: string;
  /** The filter in words, the heading above its choices. */
  group: string;
}

/**
 * One search box for all filters of a list. Chosen filters stand in it as chips; what is typed
 * offers the choices that contain it.
 */
export function FilterBar(props: {
  label: string;
  hint: string;
  chips: readonly { name: string; text: string }[];
  /** The choices for a typed text, which may be empty. */
  choicesFor: (typed: string) => FilterChoice[];
  /** Told what is typed, for choices that the service finds. */
  onType?: (typed: string) => void;
  onChoose: (choice: FilterChoice) => void;
  onRemove: (name: string) => void;
  /** Right of the box. */
  aside?: ReactNode;
}) {
  const { label, hint, chips, onRemove } = props;
  const { t } = useTranslation('common');
  const [typed, setTyped] = useState('');
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  const choices = props.choicesFor(typed.trim());
  const keyOf = ({ name, value }: FilterChoice) => `${name} ${value}`;
  const change = (text: string) => {
    setTyped(text);
    props.onType?.(text.trim());
  };
  const choose = (key: string) => {
    const choice = choices.find((each) => keyOf(each) === key);
    change('');
    combobox.closeDropdown();
    if (choice) props.onChoose(choice);
  };
  const type = (text: string) => {
    change(text);
    combobox.openDropdown();
    if (text.trim() === '') combobox.resetSelectedOption();
    else combobox.selectFirstOption();
    combobox.updateSelectedOptionIndex();
  };
  const press = (event: KeyboardEvent) => {
    const last = chips.at(-1);
    if (event.key === 'Backspace' && typed === '' && last) onRemove(last.name);
    // Enter chooses the best choice, also before an arrow key has marked one.
    if (event.key === 'Enter' && typed.trim() !== '' && combobox.getSelectedOptionIndex() === -1) {
      const [first] = choices;
      if (first) choose(keyOf(first));
    }
  };
  return (
    <Combobox store={combobox} onOptionSubmit={choose} withinPortal>
      <Combobox.DropdownTarget>
        <PillsInput
          className={classes.bar}
          classNames={{ input: classes.input }}
          leftSection={<IconSearch size={18} />}
          rightSection={props.aside}
          rightSectionPointerEvents="all"
          onClick={() => combobox.openDropdown()}
        >
          <Pill.Group>
            {chips.map(({ name, text }) => (
              <Pill
                key={name}
                size="md"
                className={classes.chip!}
                withRemoveButton
                onRemove={() => onRemove(name)}
                removeButtonProps={{
                  'aria-label': t('remove_filter', { what: text }),
                  'aria-hidden': undefined,
                  tabIndex: 0,
                }}
              >
                {text}
              </Pill>
            ))}
            <Combobox.EventsTarget withExpandedAttribute>
              <PillsInput.Field
                className={classes.field!}
                aria-label={label}
                placeholder={chips.length === 0 ? hint : ''}
                value={typed}
                onFocus={() => combobox.openDropdown()}
                onBlur={() => combobox.closeDropdown()}
                onChange={(event) => type(event.currentTarget.value)}
                onKeyDown={press}
                autoComplete="off"
                spellCheck={false}
              />
            </Combobox.EventsTarget>
          </Pill.Group>
        </PillsInput>
      </Combobox.DropdownTarget>
      <Combobox.Dropdown>
        <Combobox.Options mah={360} style={{ overflowY: 'auto' }} aria-label={label}>
          {choices.length === 0 && <Combobox.Empty>{t('nothing_found')}</Combobox.Empty>}
          {[...Map.groupBy(choices, ({ group }) => group)].map(([group, inGroup]) => (
            <Combobox.Group key={group} label={group}>
              {inGroup.map((choice) => (
                <Combobox.Option key={keyOf(choice)} value={keyOf(choice)}>
                  {choice.label}
                </Combobox.Option>
              ))}
            </Combobox.Group>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
