import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './Home.module.css';
import { Dimmed } from './styles.ts';

/** The first page of a part: the largest thing, beside it the rest, below it what needs the width. */
export function Home(props: { main: ReactNode; aside: ReactNode; whole?: ReactNode }) {
  return (
    <div className={classes.page}>
      <div className={classes.main}>{props.main}</div>
      <div className={classes.aside}>{props.aside}</div>
      {props.whole && <div className={classes.whole}>{props.whole}</div>}
    </div>
  );
}

export interface TodoLine {
  id: string;
  title: ReactNode;
  text?: ReactNode;
  isBad?: boolean;
  /** Marks a line about refused calls by their code. */
  code?: string | undefined;
  act?: ReactNode;
}

/** Lines that somebody should look at, each with its act. */
export function Todo({ lines }: { lines: readonly TodoLine[] }) {
  return (
    <ul className={classes.list}>
      {lines.map(({ id, title, text, isBad = false, code, act }) => (
        <li key={id} className={classes.line} data-refused={code}>
          <span className={classes.dot} data-bad={isBad || undefined} aria-hidden />
          <div style={{ flex: 1, minWidth: 0 }}>
            <Text size="sm" fw={500} className="wrap">
              {title}
            </Text>
            {text && (
              <Dimmed component="div" className="wrap">
                {text}
              </Dimmed>
            )}
          </div>
          {act}
        </li>
      ))}
    </ul>
  );
}
