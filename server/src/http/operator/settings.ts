import { operatorEndpoint } from '../endpoint.ts';
import * as s from '../schemas/schema.ts';

/** The settings of the process that answers. They are changed where it is started. */

const OperatorSetting = s.namedObject('OperatorSetting', {
  name: s.text('The name of its environment variable.'),
  value: s.nullable(s.text('Null: not set, or a secret, of which no part is ever shown.')),
  from: s.choice(['default', 'environment', 'file'], 'Where the value comes from.'),
  secret: s.boolean(),
  set: s.boolean('Whether it has a value.'),
  says: s.text('The sentence about it, in Markdown; links lead into the documentation.'),
});

/** GET /operator/settings */
export const list = operatorEndpoint(
  { reply: s.object({ data: s.list(OperatorSetting) }) },
  async (_call, { shownSettings }) => ({ data: shownSettings() }),
);
