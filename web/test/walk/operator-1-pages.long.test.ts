/** Pages of the console, in each window, scheme and language (part 1). */
import { walkArea } from './walk-area.ts';

walkArea('operator', 1);
