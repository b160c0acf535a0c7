import './texts.ts';

/** The pages before sign-in. */
export { Forgot, Reset } from './Reset.tsx';
export { Confirm } from './Confirm.tsx';
export { Invitation } from './Invitation.tsx';
export { NewEmail } from './NewEmail.tsx';
export { SignIn } from './SignIn.tsx';
export { SignUp } from './SignUp.tsx';
export { TwoFactor } from './TwoFactor.tsx';
