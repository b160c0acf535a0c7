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
  // By then the browser has started to save it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
