import '@mantine/spotlight/styles.css';
import { Spotlight, spotlight } from '@mantine/spotlight';
import { IconSearch } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { onShow } from './Palette.tsx';
import type { Section } from './sections.tsx';

/** Every page by its name. */
export default function PaletteList({ sections }: { sections: Section[] }) {
  const { t } = useTranslation('common');
  const navigate = useNavigate();
  useEffect(() => {
    onShow(() => spotlight.open());
    spotlight.open();
  }, []);
  const actions = sections.map(({ path: group, name, pages }) => ({
    group: t(name),
    actions: pages.map(({ path, name: page, icon: Icon }) => ({
      id: `${group} ${path}`,
      label: t(`nav.${page}`),
      leftSection: <Icon size={20} stroke={1.6} />,
      onClick: () => void navigate({ to: path }),
    })),
  }));
  return (
    <Spotlight
      actions={actions}
      nothingFound={t('nothing_found')}
      highlightQuery
      searchProps={{
        leftSection: <IconSearch size={18} />,
        placeholder: t('search'),
        'aria-label': t('search'),
      }}
    />
  );
}
