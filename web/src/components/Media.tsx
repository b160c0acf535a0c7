import { Anchor, Box, Button, Group } from '@mantine/core';
import { IconDownload, IconExternalLink, IconPhotoOff } from '@tabler/icons-react';
import type { CSSProperties, ReactNode } from 'react';
import { DownloadButton } from './DownloadButton.tsx';
import { Dimmed } from './styles.ts';
import type { RequestOutput } from '../api-types.ts';
import { Empty } from './list/Empty.tsx';
import { useTranslation } from '../i18n.ts';

/** An output of a model: image, video, audio, text or a file to download. */
export function Media({ medium, alt, gone }: { medium: RequestOutput; alt: string; gone: string }) {
  const { t } = useTranslation('common');
  const { url, file_name } = medium;
  return (
    <Box component="figure" m={0}>
      {url === null ? (
        <Box bg="var(--mantine-color-default-hover)" style={{ borderRadius: 8 }}>
          <Empty icon={<IconPhotoOff />} title={file_name} text={gone} />
        </Box>
      ) : (
        <Body medium={medium} url={url} alt={alt} />
      )}
      <Group component="figcaption" justify="space-between" mt={8} gap="xs">
        <Dimmed className="wrap">{factsOf(medium)}</Dimmed>
        {url !== null && (
          <Group gap="xs">
            <Button
              component="a"
              href={url}
              target="_blank"
              rel="noreferrer"
              size="compact-sm"
              variant="subtle"
              leftSection={<IconExternalLink size={15} />}
            >
              {t('open')}
            </Button>
            <DownloadButton
              file={{ url, file_name }}
              size="compact-sm"
              variant="light"
              leftSection={<IconDownload size={15} />}
            />
          </Group>
        )}
      </Group>
    </Box>
  );
}

function Body({ medium, url, alt }: { medium: RequestOutput; url: string; alt: string }) {
  const { content_type, width, height, file_name } = medium;
  const frame: CSSProperties = {
    display: 'block',
    width: '100%',
    maxHeight: 620,
    borderRadius: 8,
    background: content_type.startsWith('video/') ? '#000' : 'var(--mantine-color-default-hover)',
    objectFit: 'contain',
    ...(width && height && { aspectRatio: `${width} / ${height}` }),
  };
  return (
    <Playable url={url} content_type={content_type} alt={alt} style={frame}>
      <Anchor href={url} download={file_name}>
        {file_name}
      </Anchor>
    </Playable>
  );
}

/** An image, video or audio; the children for any other file. `style` is that of pictures. */
export function Playable(props: {
  url: string;
  content_type: string;
  alt: string;
  style?: CSSProperties;
  className?: string | undefined;
  /** For videos. */
  loop?: boolean;
  children: ReactNode;
}) {
  const { url, content_type, alt, children, loop = false, ...look } = props;
  const family = content_type.split('/')[0];
  const plays = { src: url, controls: true, preload: 'metadata', 'aria-label': alt } as const;
  if (family === 'image') return <img src={url} alt={alt} {...look} />;
  if (family === 'video') return <video {...plays} {...look} playsInline loop={loop} />;
  if (family === 'audio') return <audio {...plays} style={{ width: '100%' }} />;
  return children;
}

function factsOf({ content_type, width, height, size, duration_seconds }: RequestOutput): string {
  return [
    content_type,
    width && height ? `${width} × ${height}` : null,
    duration_seconds === null ? null : `${Math.round(duration_seconds * 100) / 100} s`,
    formatBytes(size),
  ]
    .filter((fact) => fact !== null)
    .join(' · ');
}

export function formatBytes(size: number): string {
  if (size < 1024) return `${size} B`;
  const [value, unit] = size < 1024 ** 2 ? [size / 1024, 'KiB'] : [size / 1024 ** 2, 'MiB'];
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}
