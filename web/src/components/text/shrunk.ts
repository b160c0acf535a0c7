/** Pictures that the service makes small; drawings and films are shown as they are. */
export function isShrunk({ content_type }: { content_type: string }): boolean {
  return /^image\/(png|jpeg|webp)$/.test(content_type);
}
