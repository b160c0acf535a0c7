import { Button, type ButtonProps } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { MouseEvent } from 'react';
import { download } from './download.ts';
import { useTranslation } from '../i18n.ts';

/** Saves a file under its name. */
export function DownloadButton(props: ButtonProps & { file: { url: string; file_name: string } }) {
  const { file, ...look } = props;
  const { t } = useTranslation('common');
  return (
    <Button
      component="a"
      href={file.url}
      download={file.file_name}
      leftSection={<IconDownload size={16} />}
      onClick={(event: MouseEvent<HTMLAnchorElement>) => download(event, file)}
      {...look}
    >
      {t('download')}
    </Button>
  );
}
