import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** Within this distance, the page counts as scrolled to the end. */
const nearPx = 48;

/**
 * Keeps the end of a growing page in view until the user scrolls up. `place` names the shown
 * content: when it changes, the page scrolls to the end; if it is null, to the top.
 */
export function useFollow(place: string | null) {
  const grows = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const [isBehind, setBehind] = useState(false);

  const toEnd = useCallback(() => {
    isFollowing.current = true;
    setBehind(false);
    window.scrollTo({ top: document.documentElement.scrollHeight });
  }, []);

  useLayoutEffect(() => {
    if (place !== null) return toEnd();
    isFollowing.current = false;
    setBehind(false);
    window.scrollTo({ top: 0 });
  }, [place, toEnd]);

  useEffect(() => {
    let before = window.scrollY;
    const scrolled = () => {
      const { scrollHeight } = document.documentElement;
      const isNear = scrollHeight - window.scrollY - window.innerHeight < nearPx;
      // New content never moves the page up: only the user does.
      if (isNear) isFollowing.current = true;
      else if (window.scrollY < before) isFollowing.current = false;
      before = window.scrollY;
      setBehind(!isNear && !isFollowing.current);
    };
    // Images, tables and lazy parts grow without a new message.
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) toEnd();
      else scrolled();
    });
    observer.observe(grows.current!);
    window.addEventListener('scroll', scrolled, { passive: true });
    return () => {
      observer.disconnect();
      window.removeEventListener('scroll', scrolled);
    };
  }, [toEnd]);

  return { grows, isBehind: isBehind && place !== null, toEnd };
}
