import '@mantine/notifications/styles.css';
import { notifications, Notifications, type NotificationData } from '@mantine/notifications';
import { mountBeside } from './beside.tsx';

let mounted = false;

/** Shows a notice; the first one also mounts their container. */
export function show(told: NotificationData): void {
  if (!mounted) {
    mounted = true;
    mountBeside(() => <Notifications position="top-right" />);
  }
  notifications.show(told);
}
