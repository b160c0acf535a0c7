import { useCallback, useEffect, useState } from 'react';

/** What somebody fills in for a model: it outlives a reload, not the browser's tab. */

export type Input = Record<string, unknown>;

export interface Draft {
  input: Input;
  /** Undefined takes the field out; a function makes the value from the one before. */
  set: (field: string, value: unknown) => void;
  replace: (input: Input) => void;
}

export function useDraft(place: string, initial: () => Input): Draft {
  const [input, setInput] = useState<Input>(() => kept(place) ?? initial());
  useEffect(() => {
    try {
      sessionStorage.setItem(place, JSON.stringify(input));
    } catch {
      // The browser keeps no more; the draft lives on the page alone.
    }
  }, [place, input]);
  const set = useCallback((field: string, given: unknown) => {
    setInput((before) => {
      const value: unknown = typeof given === 'function' ? given(before[field]) : given;
      const { [field]: _old, ...rest } = before;
      if (value === undefined) return rest;
      // In its place, so that the JSON does not jump about while somebody types.
      return field in before ? { ...before, [field]: value } : { ...rest, [field]: value };
    });
  }, []);
  return { input, set, replace: setInput };
}

function kept(place: string): Input | null {
  try {
    const text = sessionStorage.getItem(place);
    return text === null ? null : (JSON.parse(text) as Input);
  } catch {
    return null;
  }
}
