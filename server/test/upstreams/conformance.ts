import type { AdapterName } from '../../src/core/catalog/upstream-definition.ts';
import type { Fault, FakeUpstream } from './fakes/kit.ts';

/** An adapter and the server that stands in for its upstream, for the cases that all adapters pass. */
export interface Rig {
  /** Name of the upstream in the catalog below. */
  name: string;
  adapter: AdapterName;
  /** How a lost answer is recovered when the upstream cannot call us back; for class C+ it is C. */
  class: 'A' | 'B' | 'C';
  /** The upstream calls back, so where it can reach us a lost answer is waited for. */
  callsBack: boolean;
  /** Left out: it signs them. */
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
  /** A row and an input that hands a file over: `FILE` stands for the file's id. */
  withFile: { model_id: string; input: Record<string, unknown> } | null;
  /** Faults that this upstream cannot have, each with the reason. */
  cannot: Partial<Record<Fault, string>>;
}
