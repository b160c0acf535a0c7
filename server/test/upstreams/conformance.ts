import type { AdapterName } from '../../src/core/catalog/upstream-definition.ts';
import type { Fault, FakeUpstream } from './fakes/kit.ts';

/** The end of a request while the upstream has this fault. */
export type End =
  /** Completed and charged. */
  | 'completed'
  /** Completed once the fault is over; waits until then. */
  | 'completed once mended'
  /** By the class: the job is found, or its outcome is unknown. */
  | 'by class'
  /** The request waits until its time is over. */
  | 'timeout'
  /** As before, and it says that the output is missing. */
  | 'output_unusable at last'
  | 'upstream_rejected'
  | 'upstream_failed'
  | 'output_unusable';

/** An adapter and the stand-in of its upstream, for the cases that all adapters pass. */
export interface Rig {
  /** Name of the upstream in `catalog`. */
  name: string;
  adapter: AdapterName;
  /** The class without callbacks; C for an upstream of class C+. */
  class: 'A' | 'B' | 'C';
  /** The upstream calls back: if it can reach us, we wait for a lost answer. */
  callsBack: boolean;
  /** Default: it signs its callbacks. */
  callbacks?: 'unsigned';
  open(): Promise<FakeUpstream>;
  /** YAML of the whole catalog file; `URL` stands for the fake's address, `FAKE_KEY` for its key's variable, `FAKE_SECRET` for its secret's. */
  catalog: string;
  /** One row of each kind that the adapter serves, with an input that takes one unit. */
  kinds: {
    model_id: string;
    kind: 'image' | 'video';
    input: Record<string, unknown>;
    charge_usd_micro: bigint;
  }[];
  /** A row and an input with a file: `FILE` stands for the file's id. */
  withFile: { model_id: string; input: Record<string, unknown> } | null;
  /** Faults that this upstream cannot have, each with the reason. */
  cannot: Partial<Record<Fault, string>>;
  /** Faults that end otherwise than at the usual upstream. */
  expected?: Partial<Record<Fault, { ends: End }>>;
}
