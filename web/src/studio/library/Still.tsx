import { Text } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { useState, type ReactNode } from 'react';
import classes from './Library.module.css';
import { useLiveState } from '../../live.tsx';
import type { LibraryOutput } from './library-data.ts';

/**
 * An output on the wall: its thumbnail, for a video without one its first frame, else an icon with
 * the prompt. A picture that could not be loaded is tried again when the connection is back.
 */
export function Still(props: { output: LibraryOutput; what: string; icon: ReactNode }) {
  const { output, what, icon } = props;
  const { url, thumbnail_url, content_type } = output;
  const live = useLiveState();
  const [broken, setBroken] = useState<string[]>([]);
  const src = [thumbnail_url, isImage(content_type) ? url : null].find(
    (each) => each && !broken.includes(`${live} ${each}`),
  );
  if (src) {
    return (
      <img
        src={src}
        alt=""
        className={classes.still}
        loading="lazy"
        decoding="async"
        draggable={false}
        onError={() => setBroken((all) => [...all, `${live} ${src}`])}
      />
    );
  }
  if (content_type.startsWith('video/')) return <FirstFrame url={url} />;
  return (
    <span className={classes.words}>
      {icon}
      <Text span size="sm" lineClamp={3} dir="auto">
        {what}
      </Text>
    </span>
  );
}

const isImage = (content_type: string) => content_type.startsWith('image/');

/** Loads nothing until it is near the screen: each video takes a connection. */
function FirstFrame({ url }: { url: string }) {
  const { ref, entry } = useIntersection<HTMLVideoElement>({ rootMargin: '200px' });
  const [seen, setSeen] = useState(false);
  if (entry?.isIntersecting && !seen) setSeen(true);
  return (
    <video
      ref={ref}
      className={classes.still}
      {...(seen && { src: `${url}#t=0.1` })}
      muted
      playsInline
      preload="metadata"
      tabIndex={-1}
    />
  );
}
