import './studio-texts.ts';
import { IconStar, IconStarFilled } from '@tabler/icons-react';
import { QuietIcon } from '../components/styles.ts';
import { useMay } from '../session.tsx';
import { useTranslation } from '../i18n.ts';
import { useFavorite, type Entry } from './library/library-data.ts';

/** Marks a request as a favorite of the account; nothing for people who may not. */
export function Star(props: {
  entry: Entry;
  isStop?: boolean;
  variant?: 'default' | 'subtle';
  size?: number;
  className?: string | undefined;
}) {
  const { entry, isStop = true, variant = 'subtle', size, className } = props;
  const { t } = useTranslation('studio');
  const toggle = useFavorite();
  const mayMark = useMay('build');
  if (!mayMark) return null;
  const { favorite } = entry;
  return (
    <QuietIcon
      className={className}
      variant={variant}
      size={size}
      data-on={favorite || undefined}
      tabIndex={isStop ? 0 : -1}
      aria-pressed={favorite}
      aria-label={t('favorite')}
      title={t(favorite ? 'unfavorite' : 'favorite')}
      onClick={() => toggle(entry)}
    >
      {favorite ? <IconStarFilled size={16} /> : <IconStar size={16} />}
    </QuietIcon>
  );
}
