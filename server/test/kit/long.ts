/** `npm run test:full` runs each test in its long form, `npm test` in its short one. */
export const isLong = process.env.FAREBOX_TEST_LONG === 'on';
