import type { NotificationData } from '@mantine/notifications';

/** Shows a notice in the window's corner. Its component is loaded with the first notice. */
export function notice(told: NotificationData): void {
  void import('./Notices.tsx').then(({ show }) => show(told));
}
