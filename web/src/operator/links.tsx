import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { QueryLink } from '../address.ts';
import { Note } from '../components/styles.ts';
import type { RequestSearch } from './requests/request-search.ts';

/** A link within a row. */
export function PlainLink({ to, fw, children }: { to: string; fw?: number; children: ReactNode }) {
  return (
    <Anchor
      component={Link}
      to={to}
      display="inline-block"
      // High enough for a finger.
      py={2}
      fz="sm"
      {...(fw !== undefined && { fw })}
      className="wrap"
    >
      {children}
    </Anchor>
  );
}

export function RowLink(props: { to: string; children: ReactNode }) {
  return <PlainLink {...props} fw={500} />;
}

/** Quieter than below words, which are smaller. */
const figureLine = {
  textDecorationColor: 'var(--n7)',
  textDecorationThickness: 1,
  textUnderlineOffset: 4,
};

/** A figure as a link to the page with what it counts. */
export function PageLink(props: {
  to: string;
  search?: Record<string, string | undefined>;
  children: ReactNode;
}) {
  const given = Object.entries(props.search ?? {}).filter(([, value]) => value !== undefined);
  return (
    <Anchor
      component={QueryLink}
      to={props.to}
      search={Object.fromEntries(given)}
      inherit
      c="inherit"
      className="wrap"
      style={figureLine}
    >
      {props.children}
    </Anchor>
  );
}

/** A link to the requests that a figure counts. */
export function RequestsLink(props: { search: RequestSearch; children: ReactNode }) {
  return <PageLink {...props} to="/operator/requests" />;
}

export function RequestLink({ id, children }: { id: string; children: ReactNode }) {
  return <RowLink to={`/operator/requests/${id}`}>{children}</RowLink>;
}

export interface OfAccount {
  account_id: string;
  account_name: string | null;
  email: string | null;
}

/** By its name if it has one, with its address. Leads to its page, if not elsewhere. */
export function AccountLink({ of, to, fw }: { of: OfAccount; to?: string; fw?: number }) {
  const { account_id, account_name: name, email } = of;
  return (
    <>
      <PlainLink to={to ?? `/operator/accounts/${account_id}`} {...(fw !== undefined && { fw })}>
        {name ?? email ?? account_id}
      </PlainLink>
      {name !== null && <Note className="wrap">{email}</Note>}
    </>
  );
}
