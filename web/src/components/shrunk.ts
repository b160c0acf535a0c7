/** Whether the service makes thumbnails of this file; SVGs and videos are shown as they are. */
export function isShrunk({ content_type }: { content_type: string }): boolean {
  return /^image\/(png|jpeg|webp)$/.test(content_type);
}
