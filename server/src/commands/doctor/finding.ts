/** The result of one check of `farebox doctor`. */
export interface Diagnosis {
  check: string;
  /** `wrong` needs an act now; `note` is worth knowing; `unknown` could not be checked. */
  state: 'wrong' | 'note' | 'fine' | 'unknown';
  says: string;
  /** The next step. */
  todo?: string;
}

/** Makes the findings of one check. */
export function findingsOf(check: string) {
  return {
    fine: (says: string): Diagnosis => ({ check, state: 'fine', says }),
    note: (says: string, todo?: string): Diagnosis =>
      withTodo({ check, state: 'note', says }, todo),
    wrong: (says: string, todo?: string): Diagnosis =>
      withTodo({ check, state: 'wrong', says }, todo),
    unknown: (says: string): Diagnosis => ({ check, state: 'unknown', says }),
  };
}

function withTodo(finding: Diagnosis, todo: string | undefined): Diagnosis {
  return todo === undefined ? finding : { ...finding, todo };
}
