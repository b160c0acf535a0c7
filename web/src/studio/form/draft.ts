import { useCallback, useEffect, useState } from 'react';
import { exactJson } from '../../exact-json.ts';

/** The user's input for a model. Survives a reload, but not closing the tab. */

export type Input = Record<string, unknown>;

export interface Draft {
  input: Input;
  /** Undefined removes the field; a function computes the value from the current one. */
  set: (field: string, value: unknown) => void;
  replace: (input: Input) => void;
}

export function useDraft(place: string, initial: () => Input): Draft {
  const [input, setInput] = useState<Input>(() => storedDraft(place) ?? initial());
  useEffect(() => {
    try {
      sessionStorage.setItem(place, JSON.stringify(input));
    } catch {
      // The browser has no room: the draft stays in the page only.
    }
  }, [place, input]);
  const set = useCallback((field: string, given: unknown) => {
    setInput((before) => {
      const value: unknown = typeof given === 'function' ? given(before[field]) : given;
      const { [field]: _old, ...rest } = before;
      if (value === undefined) return rest;
      // A changed field keeps its position, so that the JSON view does not reorder while typing.
      return field in before ? { ...before, [field]: value } : { ...rest, [field]: value };
    });
  }, []);
  return { input, set, replace: setInput };
}

function storedDraft(place: string): Input | null {
  try {
    // This module wrote it.
    return exactJson(sessionStorage.getItem(place) ?? 'null') as Input | null;
  } catch {
    return null;
  }
}
