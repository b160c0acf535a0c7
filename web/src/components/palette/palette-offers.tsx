import { useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import {
  IconHash,
  IconBell,
  IconBuilding,
  IconWallet,
  IconContrast,
  IconLanguage,
  IconLogout,
  IconMessage,
  IconPhoto,
  IconPlus,
  IconSwitchHorizontal,
  IconVideo,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { accountApi } from '../../api.ts';
import type { Account, Me } from '../../api-types.ts';
import { chooseAccount, mayIn, useSignOut, useSwitchAccount } from '../../session.tsx';
import { modelsQuery } from '../../studio/models.ts';
import { fitting, idIn, numberIn, recentOf, type Offer, type OfferGroup } from './palette-find.ts';
import './palette-texts.ts';
import type { Section } from '../frame/sections.tsx';
import { useOperatorQuery } from '../../queries.ts';
import { languageCodes, languages, setLanguage, useTranslation } from '../../i18n.ts';

/** The user and the sections they may open. */
export interface PaletteFacts {
  me: Me;
  sections: Section[];
}

const typingMs = 200;
const idLength = 36;
/** Maximum number of entries per group, so that all groups fit on the screen. */
const shownMax = 6;

/** The entries for a search text; `searching` while the service is being asked. */
export function useOffers(
  { me, sections }: PaletteFacts,
  typed: string,
): { groups: OfferGroup[]; searching: boolean } {
  const { t } = useTranslation('palette');
  const account = chooseAccount(me.accounts);
  const pages = usePageOffers(sections);
  const models = useModelOffers();
  const actions = useActionOffers(me, account);
  const requests = useRequestOffers(account, typed);
  const anyRequests = useAnyRequestOffers(me, typed);
  const accounts = useAccountOffers(me, typed);
  const named = (name: string, offers: Offer[]) => ({ name: t(name), offers });
  const groups = typed.trim()
    ? [
        named('requests', [...requests.offers, ...anyRequests.offers]),
        ...pages.map(({ name, offers }) => ({ name, offers: fitting(offers, typed, shownMax) })),
        named('models', fitting(models, typed, shownMax)),
        named('actions', fitting(actions, typed, shownMax)),
        named('accounts', accounts.offers),
      ]
    : [
        named('recent', known(recentOf(me.person_id), pages, models, actions)),
        ...pages,
        named('actions', actions),
      ];
  return {
    groups: groups.filter(({ offers }) => offers.length > 0),
    searching: requests.searching || anyRequests.searching || accounts.searching,
  };
}

/** The recent entries that still exist. */
function known(ids: string[], pages: OfferGroup[], ...more: Offer[][]): Offer[] {
  const all = [...pages.flatMap(({ offers }) => offers), ...more.flat()];
  return ids.flatMap((id) => all.find((offer) => offer.id === id) ?? []);
}

function usePageOffers(sections: Section[]): OfferGroup[] {
  const { t } = useTranslation('common');
  const navigate = useNavigate();
  return sections.map(({ path: section, name, pages }) => ({
    name: t(name),
    offers: pages.map(({ path, name: page, icon }) => ({
      id: `page ${path}`,
      label: t(`nav.${page}`),
      words: `${t(name)} ${section}`,
      icon: drawn(icon),
      run: () => void navigate({ to: path }),
    })),
  }));
}

const kindIcons = { image: IconPhoto, video: IconVideo, text: IconMessage };

function useModelOffers(): Offer[] {
  const navigate = useNavigate();
  const { data = [] } = useQuery(modelsQuery);
  return data.map(({ id, name, kind }) => ({
    id: `model ${id}`,
    label: name,
    note: id,
    icon: drawn(kindIcons[kind]),
    run: () => void navigate({ to: `/studio/${id}` }),
  }));
}

function useActionOffers(me: Me, account: Account | null): Offer[] {
  const { t, language } = useTranslation('palette');
  const navigate = useNavigate();
  const signOut = useSignOut();
  const switchAccount = useSwitchAccount();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const go = (id: string, icon: Icon, to: string, search = {}): Offer => {
    const run = () => void navigate({ to, search });
    return { id, label: t(id), icon: drawn(icon), run };
  };
  const themes = (['light', 'dark', 'auto'] as const).filter((scheme) => scheme !== colorScheme);
  const others = languageCodes.filter((code) => code !== language);
  return [
    ...(account && mayIn(account, 'build')
      ? [go('create_key', IconPlus, '/dashboard/keys', { create: true })]
      : []),
    ...(account
      ? [
          go('top_up', IconWallet, '/dashboard/money/top-up'),
          go('alerts', IconBell, '/dashboard/money/alerts'),
        ]
      : []),
    ...me.accounts
      .filter(({ account_id }) => account_id !== account?.account_id)
      .map(({ account_id, name }) => ({
        id: `account ${account_id}`,
        label: t('switch_account', { name }),
        words: t('common:account'),
        icon: drawn(IconSwitchHorizontal),
        run: () => {
          switchAccount(account_id);
          // The open page may show something that only the previous account has.
          void navigate({ to: '/dashboard' });
        },
      })),
    ...themes.map((scheme) => ({
      id: `theme ${scheme}`,
      label: t('theme', { name: t(`common:theme.${scheme}`) }),
      words: `theme тема ${scheme}`,
      icon: drawn(IconContrast),
      run: () => setColorScheme(scheme),
    })),
    ...others.map((code) => ({
      id: `language ${code}`,
      label: t('language', { name: languages[code] }),
      // Words of both languages, for users who cannot read the current one.
      words: 'language язык',
      icon: drawn(IconLanguage),
      run: () => setLanguage(code),
    })),
    {
      id: 'sign_out',
      label: t('common:sign_out'),
      icon: drawn(IconLogout),
      run: () => void signOut(),
    },
  ];
}

/** The account's requests whose ids begin with the text, or whose call has this number. */
function useRequestOffers(account: Account | null, typed: string) {
  const { t } = useTranslation('palette');
  const navigate = useNavigate();
  const wanted = idIn(typed) ?? numberIn(typed);
  const [id] = useDebouncedValue(wanted, typingMs);
  const { data, isFetching } = useQuery({
    queryKey: ['account', account?.account_id, 'palette', id],
    enabled: account !== null && id !== null,
    queryFn: ({ signal }) =>
      accountApi(account!.account_id)('GET /requests', {
        query: { id: id!, limit: shownMax },
        signal,
      }),
  });
  const rows = wanted !== null && id === wanted ? (data?.data ?? []) : [];
  const offers = rows.map(({ request_id, model_id, status }): Offer => ({
    id: `request ${request_id}`,
    label: t('open_request', { id: request_id }),
    note: `${model_id} · ${t(`common:status.${status}`)}`,
    icon: drawn(IconHash),
    run: () => void navigate({ to: '/dashboard/requests/$request_id', params: { request_id } }),
  }));
  return { offers, searching: account !== null && (wanted !== id || isFetching) };
}

/** The request of any account with this id, for operators. */
function useAnyRequestOffers(me: Me, typed: string) {
  const { t } = useTranslation('palette');
  const navigate = useNavigate();
  const id = idIn(typed);
  const isAsked = me.is_operator && id !== null && id.length === idLength;
  const params = { request_id: id! };
  const { data, isFetching } = useOperatorQuery(
    'GET /requests/:request_id',
    { params },
    { enabled: isAsked },
  );
  const rows = isAsked && data ? [data] : [];
  const offers = rows.map(({ request_id, model_id, email }): Offer => ({
    id: `request of operator ${request_id}`,
    label: t('open_request', { id: request_id }),
    note: `${email} · ${model_id}`,
    icon: drawn(IconHash),
    run: () => void navigate({ to: `/operator/requests/${request_id}` }),
  }));
  return { offers, searching: isAsked && isFetching };
}

/** Accounts of all customers, for operators. */
function useAccountOffers(me: Me, typed: string) {
  const navigate = useNavigate();
  // A single letter would match most accounts.
  const wanted = me.is_operator && typed.trim().length > 1 ? typed.trim() : null;
  const [q] = useDebouncedValue(wanted, typingMs);
  const query = { q: q!, limit: shownMax };
  const { data, isFetching } = useOperatorQuery(
    'GET /accounts',
    { query },
    { enabled: q !== null },
  );
  const rows = wanted !== null && q === wanted ? (data?.data ?? []) : [];
  const offers = rows.map(({ account_id, email, name }): Offer => ({
    id: `of operator ${account_id}`,
    label: email,
    ...(name !== null && { note: name }),
    icon: drawn(IconBuilding),
    run: () => void navigate({ to: `/operator/accounts/${account_id}` }),
  }));
  return { offers, searching: wanted !== q || isFetching };
}

type Icon = ComponentType<{ size?: number; stroke?: number }>;

function drawn(Drawing: Icon) {
  return <Drawing size={20} stroke={1.6} />;
}
