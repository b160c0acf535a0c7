import { Box } from '@mantine/core';
import { IconMessage, IconMusic, IconPhoto, IconVideo } from '@tabler/icons-react';
import { useState, type ReactNode } from 'react';

const icons: Record<string, ReactNode> = {
  image: <IconPhoto size={20} stroke={1.5} />,
  video: <IconVideo size={20} stroke={1.5} />,
  audio: <IconMusic size={20} stroke={1.5} />,
  text: <IconMessage size={20} stroke={1.5} />,
};

/** A small square preview of an output; if there is none, an icon of the output's kind. */
export function Thumb(props: {
  preview: { url: string; thumbnail_url: string | null; content_type: string } | null;
  kind: string;
  size?: number;
}) {
  const { kind, size = 44 } = props;
  const [broken, setBroken] = useState<string | null>(null);
  const preview = props.preview?.url === broken ? null : props.preview;
  const giveUp = () => setBroken(props.preview?.url ?? null);
  const [family = kind] = preview?.content_type.split('/') ?? [kind];
  const fill = { width: '100%', height: '100%', objectFit: 'cover', display: 'block' } as const;
  return (
    <Box
      w={size}
      h={size}
      c="dimmed"
      bg="var(--mantine-color-default-hover)"
      style={{
        borderRadius: 8,
        overflow: 'hidden',
        flex: 'none',
        display: 'grid',
        placeItems: 'center',
      }}
      aria-hidden
    >
      {preview && (family === 'image' || preview.thumbnail_url) ? (
        <img
          src={preview.thumbnail_url?.replace('size=card', 'size=square') ?? preview.url}
          alt=""
          loading="lazy"
          decoding="async"
          style={fill}
          onError={giveUp}
        />
      ) : preview && family === 'video' ? (
        <video
          src={`${preview.url}#t=0.1`}
          muted
          playsInline
          preload="metadata"
          style={fill}
          onError={giveUp}
        />
      ) : (
        (icons[family] ?? icons.image)
      )}
    </Box>
  );
}
