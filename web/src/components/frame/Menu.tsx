import { UnstyledButton } from '@mantine/core';
import { IconMenu2, IconX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { phonePages, type Section, type SectionPage } from './sections.tsx';
import classes from './Shell.module.css';
import { useTranslation } from '../../i18n.ts';

interface MenuState {
  section: Section;
  /** The path of the page that is shown, or of the page above it. */
  active: string | undefined;
}

/** The pages of a section: names on a wide screen, icons with their names on hover on a tablet. */
export function SideMenu({ section, active, onClick }: MenuState & { onClick: () => void }) {
  const { t } = useTranslation('common');
  return (
    <nav aria-label={t(section.name)}>
      {section.pages.map((page) => (
        <Fragment key={page.path}>
          {page.begins && (
            <div className={classes.group}>
              <span>{t(`nav_group.${page.begins}`)}</span>
            </div>
          )}
          <PageLink page={page} active={active} onClick={onClick} />
        </Fragment>
      ))}
    </nav>
  );
}

function PageLink(props: { page: SectionPage; active: string | undefined; onClick: () => void }) {
  const { t } = useTranslation('common');
  const { path, name, icon: Icon } = props.page;
  return (
    <Link
      to={path}
      className={classes.page}
      activeOptions={{ exact: true }}
      aria-current={path === props.active ? 'page' : undefined}
      onClick={props.onClick}
    >
      <Icon size={16} stroke={1.7} />
      <span className={classes.name}>{t(`nav.${name}`)}</span>
    </Link>
  );
}

/** On a phone: the pages that a thumb needs, and the menu with the others. */
export function BottomBar(props: MenuState & { isOpen: boolean; toggle: () => void }) {
  const { t } = useTranslation('common');
  const { section, active, isOpen, toggle } = props;
  const MenuIcon = isOpen ? IconX : IconMenu2;
  return (
    <nav className={classes.bottom} aria-label={t('main_pages')}>
      {phonePages(section).map(({ path, name, icon: Icon }) => (
        <Link
          key={path}
          to={path}
          activeOptions={{ exact: true }}
          aria-current={path === active && !isOpen ? 'page' : undefined}
          onClick={() => isOpen && toggle()}
        >
          <Icon size={20} stroke={1.7} />
          <span>{t(`nav.${name}`)}</span>
        </Link>
      ))}
      <UnstyledButton onClick={toggle} aria-expanded={isOpen}>
        <MenuIcon size={20} stroke={1.7} aria-hidden />
        <span>{t('menu')}</span>
      </UnstyledButton>
    </nav>
  );
}
