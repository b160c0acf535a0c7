import { Box } from '@mantine/core';
import {
  IconAppWindow,
  IconArrowsMaximize,
  IconBrush,
  IconEar,
  IconEye,
  IconFrame,
  IconMessage2,
  IconMicrophone2,
  IconMoodSmile,
  IconMovie,
  IconPhoto,
  IconPhotoEdit,
  IconPhotoVideo,
  IconPlayerTrackNext,
  IconRun,
  IconScissors,
  IconStack2,
  IconVectorBezier2,
} from '@tabler/icons-react';
import classes from './Cover.module.css';
import type { Model } from '../api-types.ts';

/** A generated cover for a model, derived from its name. */

const icons: Record<string, typeof IconPhoto> = {
  'text-to-image': IconBrush,
  edit: IconPhotoEdit,
  upscale: IconArrowsMaximize,
  reframe: IconFrame,
  'layer-decomposition': IconStack2,
  'text-to-vector': IconVectorBezier2,
  'text-to-video': IconMovie,
  'image-to-video': IconPhotoVideo,
  'reference-to-video': IconPhotoVideo,
  'video-edit': IconScissors,
  'video-to-video/edit': IconScissors,
  'video-extend': IconPlayerTrackNext,
  'video-analyze': IconEye,
  'video-to-audio': IconEar,
  'character-animation': IconMoodSmile,
  'motion-control': IconRun,
  'talking-avatar': IconMicrophone2,
  'lip-sync': IconMicrophone2,
  chat: IconMessage2,
};

/** The first hue of each kind, so that kinds differ at a glance. */
const hues: Record<Model['kind'], number> = { image: 165, video: 225, text: 285 };

export function Cover({ model, height = 92 }: { model: Model; height?: number }) {
  const Icon = icons[model.task] ?? IconAppWindow;
  const n = hash(model.id);
  const hue = hues[model.kind] + (n % 50) - 15;
  const angle = 110 + ((n >>> 8) % 80);
  return (
    <Box
      className={classes.cover}
      aria-hidden
      style={{
        height,
        background: `linear-gradient(${angle}deg, hsl(${hue} 42% 34%), hsl(${hue + 42} 46% 52%))`,
      }}
    >
      <Box
        className={classes.light}
        style={{ left: `${(n >>> 12) % 90}%`, top: `${((n >>> 18) % 80) - 30}%` }}
      />
      <Icon size={Math.min(40, height * 0.44)} stroke={1.3} />
    </Box>
  );
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 2_166_136_261;
  for (const letter of text) value = Math.imul(value ^ letter.codePointAt(0)!, 16_777_619);
  return value >>> 0;
}
