/** Names of the kinds that tasks belong to, in English and Russian. */
export const kindWords = {
  image: ['Images', 'Изображения'],
  video: ['Video and audio', 'Видео и звук'],
  text: ['Text', 'Текст'],
} as const satisfies Record<string, readonly [en: string, ru: string]>;

/** All tasks, with their names in English and Russian. */
export const taskWords = {
  'text-to-video': ['Text to video', 'Видео по тексту'],
  'image-to-video': ['Image to video', 'Видео по картинке'],
  'reference-to-video': ['References to video', 'Видео по образцам'],
  'video-edit': ['Edit a video', 'Правка видео'],
  'video-extend': ['Extend a video', 'Продление видео'],
  'video-analyze': ['Analyze a video', 'Анализ видео'],
  'video-to-video/edit': ['Video to video', 'Видео из видео'],
  'character-animation': ['Animate a character', 'Оживление персонажа'],
  'talking-avatar': ['Talking avatar', 'Говорящий аватар'],
  'lip-sync': ['Lip sync', 'Синхронизация губ'],
  'video-to-audio': ['Audio for a video', 'Звук из видео'],
  'motion-control': ['Motion control', 'Управление движением'],
  reframe: ['Reframe', 'Другой кадр'],
  upscale: ['Upscale', 'Увеличение'],
  'text-to-image': ['Text to image', 'Картинка по тексту'],
  edit: ['Edit an image', 'Правка картинки'],
  'layer-decomposition': ['Layers', 'Слои'],
  'text-to-vector': ['Text to vector', 'Вектор по тексту'],
  chat: ['Chat', 'Чат'],
} as const satisfies Record<string, readonly [en: string, ru: string]>;
