/** Saves a text as a file. */
export function saveText(name: string, text: string, type: string): void {
  save(name, new Blob([text], { type }));
}

export function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // After this time the browser has started to save the file.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
