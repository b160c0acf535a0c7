import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { QuietIcon } from '../styles.ts';
import { useLocale } from '../text.tsx';
import classes from './Calendar.module.css';
import { dateOf, dayOfDate, addToDay, weeksOf } from './days.ts';
import { useTranslation } from '../../i18n.ts';

const moves: Record<string, { days?: number; months?: number }> = {
  ArrowLeft: { days: -1 },
  ArrowRight: { days: 1 },
  ArrowUp: { days: -7 },
  ArrowDown: { days: 7 },
  PageUp: { months: -1 },
  PageDown: { months: 1 },
};

/** A month of days; arrow keys go from day to day. */
export function Calendar(props: {
  value: string;
  min?: string | undefined;
  max?: string | undefined;
  onChoose: (day: string) => void;
}) {
  const { value, min = '', max = '9999-12-31', onChoose } = props;
  const { t } = useTranslation('date');
  const locale = useLocale();
  const today = dayOfDate(new Date());
  const [at, setAt] = useState(value || today);
  const focused = useRef<HTMLButtonElement>(null);
  const moved = useRef(false);
  useEffect(() => {
    if (moved.current) focused.current?.focus();
  }, [at]);
  const move = (event: KeyboardEvent) => {
    const by = moves[event.key];
    if (!by) return;
    event.preventDefault();
    moved.current = true;
    setAt(addToDay(at, by));
  };
  const turn = (months: number) => {
    moved.current = false;
    setAt(addToDay(at, { months }));
  };
  const long = new Intl.DateTimeFormat(locale, { dateStyle: 'full' });
  const weekday = new Intl.DateTimeFormat(locale, { weekday: 'short' });
  const month = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric' });
  const weeks = weeksOf(at);
  return (
    <div>
      <div className={classes.head}>
        <QuietIcon size="lg" aria-label={t('before')} onClick={() => turn(-1)}>
          <IconChevronLeft size={18} />
        </QuietIcon>
        <span aria-live="polite">{month.format(dateOf(at))}</span>
        <QuietIcon size="lg" aria-label={t('after')} onClick={() => turn(1)}>
          <IconChevronRight size={18} />
        </QuietIcon>
      </div>
      <table className={classes.days} onKeyDown={move}>
        <thead>
          <tr>
            {weeks[0]!.map((day) => (
              <th key={day} scope="col">
                {weekday.format(dateOf(day))}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={week[0]}>
              {week.map((day) => (
                <td key={day}>
                  <button
                    type="button"
                    className={classes.day}
                    ref={day === at ? focused : undefined}
                    tabIndex={day === at ? 0 : -1}
                    data-autofocus={day === at || undefined}
                    data-outside={day.slice(0, 7) !== at.slice(0, 7) || undefined}
                    aria-label={long.format(dateOf(day))}
                    aria-pressed={day === value}
                    aria-current={day === today ? 'date' : undefined}
                    disabled={day < min || day > max}
                    onClick={() => onChoose(day)}
                  >
                    {Number(day.slice(8))}
                  </button>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
