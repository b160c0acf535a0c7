import { Outlet } from '@tanstack/react-router';
import { useMe } from '../../session.tsx';
import { NothingHere } from './NotFound.tsx';
import { Shell } from './Shell.tsx';

/** The pages of a signed-in user, in their frame. */
export function SignedIn() {
  const me = useMe();
  return me ? (
    <Shell me={me}>
      <Outlet />
    </Shell>
  ) : null;
}

/** A missing page, in the frame for those who have signed in. */
export function NotFound() {
  const me = useMe();
  if (me === undefined) return null;
  return me ? (
    <Shell me={me}>
      <NothingHere />
    </Shell>
  ) : (
    <main>
      <NothingHere />
    </main>
  );
}
