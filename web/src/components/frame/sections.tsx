import {
  IconActivity,
  IconAdjustments,
  IconBook,
  IconChartBar,
  IconCoins,
  IconColumns,
  IconHelpCircle,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconLibraryPhoto,
  IconLink,
  IconMailPlus,
  IconMessage,
  IconPhoto,
  IconPlugConnected,
  IconShieldLock,
  IconStack2,
  IconTicket,
  IconTransferIn,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import type { Me } from '../../api-types.ts';

/** A section of the web pages. The menu and the palette are built from the sections. */
export interface Section {
  path: '/dashboard' | '/studio' | '/operator';
  /** Translation key of the section's name. */
  name: string;
  pages: SectionPage[];
}

export interface SectionPage {
  path: string;
  /** Translation key below `nav`. */
  name: string;
  icon: ComponentType<{ size?: number; stroke?: number }>;
  /** The group that begins with this page; a translation key below `nav_group`. */
  begins?: string;
}

const sections: Section[] = [
  {
    path: '/dashboard',
    name: 'dashboard',
    pages: [
      { path: '/dashboard', name: 'overview', icon: IconLayoutDashboard },
      { path: '/dashboard/keys', name: 'keys', icon: IconKey },
      { path: '/dashboard/requests', name: 'requests', icon: IconActivity },
      { path: '/dashboard/usage', name: 'usage', icon: IconChartBar },
      { path: '/dashboard/money', name: 'money', icon: IconCoins },
      { path: '/dashboard/webhooks', name: 'webhooks', icon: IconWebhook },
      { path: '/dashboard/team', name: 'team', icon: IconUsers },
      { path: '/dashboard/docs', name: 'docs', icon: IconBook },
      { path: '/dashboard/settings', name: 'settings', icon: IconShieldLock },
    ],
  },
  {
    path: '/studio',
    name: 'studio',
    pages: [
      { path: '/studio', name: 'models', icon: IconPhoto },
      { path: '/studio/compare', name: 'compare', icon: IconColumns },
      { path: '/studio/library', name: 'library', icon: IconLibraryPhoto },
      { path: '/studio/chat', name: 'chat', icon: IconMessage },
    ],
  },
  {
    path: '/operator',
    name: 'operator',
    pages: [
      { path: '/operator', name: 'overview', icon: IconChartBar },
      { path: '/operator/accounts', name: 'accounts', icon: IconUsers, begins: 'customers' },
      { path: '/operator/invitations', name: 'invitations', icon: IconMailPlus },
      { path: '/operator/requests', name: 'requests', icon: IconActivity, begins: 'traffic' },
      { path: '/operator/queue', name: 'queue', icon: IconStack2 },
      { path: '/operator/unknown', name: 'unknown', icon: IconHelpCircle },
      { path: '/operator/catalog', name: 'catalog', icon: IconBook, begins: 'catalog' },
      { path: '/operator/upstreams', name: 'upstreams', icon: IconPlugConnected },
      { path: '/operator/deposits', name: 'deposits', icon: IconTransferIn, begins: 'money' },
      { path: '/operator/chains', name: 'chains', icon: IconLink },
      { path: '/operator/vouchers', name: 'vouchers', icon: IconTicket },
      { path: '/operator/keys', name: 'operator_keys', icon: IconKey, begins: 'access' },
      { path: '/operator/log', name: 'log', icon: IconHistory },
      { path: '/operator/settings', name: 'service_settings', icon: IconAdjustments },
    ],
  },
];

/** The sections that this user may open. */
export function sectionsOf({ is_operator }: Pick<Me, 'is_operator'>): Section[] {
  return sections.filter(({ path }) => path !== '/operator' || is_operator);
}

/** The three pages at the bottom of a phone, of the operator or of a customer. */
export function phonePages({ path }: Section): SectionPage[] {
  const wanted = path === '/operator' ? operatorPhone : customerPhone;
  const pages = sections.flatMap((section) => section.pages);
  return wanted.flatMap((each) => pages.find((page) => page.path === each) ?? []);
}

const operatorPhone = ['/operator', '/operator/accounts', '/operator/deposits'];
const customerPhone = ['/studio', '/dashboard/requests', '/dashboard/money'];
