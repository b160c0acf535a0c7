import { parseArgs } from 'node:util';
import { abuses } from './abuses.ts';
import { chatAbuses } from './chat-abuses.ts';
import { openChatWorld } from './chat-world.ts';
import { faultsIn, tableOf } from './table.ts';
import { openWorld } from './world.ts';

/**
 * `npm run billing [-- --only TEXT]`: tries every abuse on every row of the catalog
 * and prints the charge beside the vendor's bill. Exits 1 if a charge is below the cost. TEXT is a
 * part of a model id.
 */
const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const wanted = ({ id }: { id: string }) => id.includes(values.only);
const media = await openWorld(wanted);
const chat = await openChatWorld(wanted);
try {
  const outcomes = [...(await media.run(abuses)), ...(await chat.run(chatAbuses))];
  const order = outcomes.toSorted((a, b) => (a.row.id < b.row.id ? -1 : 1));
  console.log(tableOf(order));
  const faults = faultsIn(outcomes);
  const stated = [...new Set(outcomes.map(({ row }) => row))].filter((row) => row.cost_may_exceed);
  for (const { id, cost_may_exceed } of stated)
    console.log(`\nstated by ${id}: ${cost_may_exceed}`);
  console.log(`\n${outcomes.length} requests, ${faults.length} below their cost`);
  for (const { row, abuse, message } of faults) console.log(`${row.id}, ${abuse.name} ${message}`);
  if (faults.length > 0) process.exitCode = 1;
} finally {
  await media.close();
  await chat.close();
}
