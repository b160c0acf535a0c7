/** Pages of the console, in each window, scheme and language. */
import { walkArea } from './walk-area.ts';

walkArea('operator');
