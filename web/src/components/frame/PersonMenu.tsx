import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Me } from '../../api-types.ts';
import { useSignOut } from '../../session.tsx';
import { initials } from './initials.ts';
import { languageCodes, languages, setLanguage, useTranslation } from '../../i18n.ts';

/** The user's own menu, not the account's: profile, appearance, sign out. */
export default function PersonMenu({ me }: { me: Me }) {
  const { t, language } = useTranslation('common');
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  return (
    <Menu position="bottom-end" width={240} defaultOpened>
      <Menu.Target>
        <ActionIcon variant="light" radius="xl" size={32} fz={12} aria-label={me.name}>
          {initials(me.name)}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{me.email}</Menu.Label>
        <Menu.Item component={Link} to="/dashboard/settings">
          {t('settings')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t('theme.label')}</Menu.Label>
        {(['light', 'dark', 'auto'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            onClick={() => setColorScheme(scheme)}
            fw={colorScheme === scheme ? 600 : 400}
            closeMenuOnClick={false}
          >
            {t(`theme.${scheme}`)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Label>{t('language')}</Menu.Label>
        {languageCodes.map((code) => (
          <Menu.Item
            key={code}
            lang={code}
            onClick={() => setLanguage(code)}
            fw={language === code ? 600 : 400}
            closeMenuOnClick={false}
          >
            {languages[code]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>{t('sign_out')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
