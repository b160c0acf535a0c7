import { useState } from 'react';
import classes from './Stage.module.css';
import type { Medium } from './runs.ts';
import { useTranslation } from '../../i18n.ts';

/** A thumbnail; the full image if the service makes none. */
export function Small(props: { medium: Medium; alt: string; className: string | undefined }) {
  const { medium, ...shown } = props;
  const [isBroken, setBroken] = useState(false);
  return (
    <img
      src={(isBroken ? null : medium.thumbnail_url) ?? medium.url}
      {...shown}
      loading="lazy"
      decoding="async"
      onError={() => setBroken(true)}
    />
  );
}

/** Fields that a model returned besides, or instead of, files. */
export function Words({ fields }: { fields: Record<string, unknown> }) {
  const { t } = useTranslation('studio');
  const { text, ...rest } = fields;
  const shown = typeof text === 'string' ? text : JSON.stringify(rest, null, 2);
  return (
    <pre
      className={classes.text}
      role="group"
      tabIndex={0}
      aria-label={t('said')}
      style={{ fontFamily: typeof text === 'string' ? 'inherit' : undefined }}
    >
      {shown}
    </pre>
  );
}
