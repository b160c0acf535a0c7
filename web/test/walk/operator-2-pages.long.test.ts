/** Pages of the console, in each window, scheme and language (part 2). */
import { walkArea } from './walk-area.ts';

walkArea('operator', 2);
