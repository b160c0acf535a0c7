/** Ties a text input to the state that holds its text. */
export function typed(value: string, set: (text: string) => void) {
  const onChange = (event: { currentTarget: { value: string } }) => set(event.currentTarget.value);
  return { value, onChange };
}
