import { CloseButton, Input, InputBase, Popover, type InputBaseProps } from '@mantine/core';
import { IconCalendar } from '@tabler/icons-react';
import { useState } from 'react';
import { useLocale } from '../text.tsx';
import { Calendar } from './Calendar.tsx';
import { dateOf } from './days.ts';
import { useTranslation } from '../../i18n.ts';
import './date-texts.ts';

/** Chooses a day, such as 2027-01-31; an empty text is none. */
export function DateField(props: {
  label: string;
  /** The label is only read aloud, and stands in the field while no day is chosen. */
  isBare?: boolean;
  description?: string;
  value: string;
  onChange: (day: string) => void;
  /** The first and the last day that can be chosen. */
  min?: string;
  max?: string;
  required?: boolean;
  size?: 'xs' | 'sm';
  w?: InputBaseProps['w'];
}) {
  const { value, onChange, min, max, label, isBare = false, required = false, ...input } = props;
  const { t } = useTranslation('date');
  const format = new Intl.DateTimeFormat(useLocale(), { dateStyle: 'medium' });
  const [open, setOpen] = useState(false);
  const choose = (day: string) => {
    setOpen(false);
    onChange(day);
  };
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-start" trapFocus returnFocus>
      <Popover.Target>
        <InputBase
          component="button"
          type="button"
          {...(isBare ? { 'aria-label': label } : { label })}
          pointer
          withAsterisk={required}
          leftSection={<IconCalendar size={16} />}
          rightSection={
            value !== '' &&
            !required && (
              <CloseButton
                size="sm"
                aria-label={t('clear', { what: label })}
                onClick={(event) => {
                  event.stopPropagation();
                  choose('');
                }}
              />
            )
          }
          rightSectionPointerEvents="all"
          aria-haspopup="dialog"
          onClick={() => setOpen(!open)}
          {...input}
        >
          {value === '' ? (
            <Input.Placeholder>{isBare ? label : t('none')}</Input.Placeholder>
          ) : (
            format.format(dateOf(value))
          )}
        </InputBase>
      </Popover.Target>
      <Popover.Dropdown p="sm" aria-label={label}>
        <Calendar value={value} min={min} max={max} onChoose={choose} />
      </Popover.Dropdown>
    </Popover>
  );
}
