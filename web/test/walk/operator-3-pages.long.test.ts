/** Pages of the console, in each window, scheme and language (part 3). */
import { walkArea } from './walk-area.ts';

walkArea('operator', 3);
